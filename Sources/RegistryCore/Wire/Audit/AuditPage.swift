/// One page of a list that is searched.
public struct AuditPage<Item: Sendable, Position: Sendable>: Sendable {
    public var items: [Item]
    /// Where the search goes on; nil when all has been looked at. A page may hold less than was asked for, or nothing,
    /// and still go on: a call looks for half a second and not longer.
    public var next: Position?

    public init(items: [Item] = [], next: Position? = nil) {
        self.items = items
        self.next = next
    }
}
