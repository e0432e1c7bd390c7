package struct AuditPage<Item: Sendable, Position: Sendable>: Sendable {
    package var items: [Item]
    /// The position of the next page; nil at the end of the list. A page may be short or empty and still go on: a call
    /// looks for half a second at most.
    package var next: Position?

    /// The last page of its list by default.
    package init(items: [Item] = [], next: Position? = nil) {
        self.items = items
        self.next = next
    }
}
