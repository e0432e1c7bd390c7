/// One page of a list that is searched.
package struct AuditPage<Item: Sendable, Position: Sendable>: Sendable {
    /// The items that were found, in the order of the list.
    package var items: [Item]
    /// Where the search goes on; nil when all has been looked at. A page may hold less than was asked for, or nothing,
    /// and still go on: a call looks for half a second and not longer.
    package var next: Position?

    /// Makes a page: by default an empty one, the last of its list.
    package init(items: [Item] = [], next: Position? = nil) {
        self.items = items
        self.next = next
    }
}
