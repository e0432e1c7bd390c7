/// The position in a list after a page.
package struct ListPosition: Sendable, Hashable {
    /// The part of the list, such as a kind of token: at most 255.
    package let part: Int
    /// The number or key of the page's last row; 0 at the start.
    package let number: Int64
    /// The rest of a position that is not only a number.
    package let rest: [UInt8]

    package init(part: Int = 0, number: Int64 = 0, rest: [UInt8] = []) {
        (self.part, self.number, self.rest) = (part, number, rest)
    }

    package static let start = ListPosition()
}

package struct AuditPage<Item: Sendable>: Sendable {
    package var items: [Item]
    /// Nil at the end of the list. A short or empty page can have a next page, because a call searches for at most half
    /// a second.
    package var next: ListPosition?
}
