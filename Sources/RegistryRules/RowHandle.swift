/// The names by which the store finds a locked row again. No rule reads them.
package struct RowHandle: Sendable, Hashable {
    package let position: RowPosition
    package let key: Int64?

    package init(position: RowPosition, key: Int64? = nil) {
        self.position = position
        self.key = key
    }
}

/// The place of a row in its table, which Postgres calls ctid.
package struct RowPosition: Sendable, Hashable {
    package let page: UInt32
    package let item: UInt16

    package init(page: UInt32, item: UInt16) {
        self.page = page
        self.item = item
    }
}
