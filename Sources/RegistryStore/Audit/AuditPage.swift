import RegistryCore

package struct AuditPage<Item: Sendable>: Sendable {
    package var items: [Item]
    /// Nil at the end of the list. A short or empty page can have a next page, because a call searches for at most half
    /// a second.
    package var next: ListPosition?
}
