/// Identifies a locked row for the store's later write. Rules do not read it. New rows have none.
package struct RowHandle: Sendable, Hashable {
    package let position: RowPosition
    package let key: Int64?

    package init(position: RowPosition, key: Int64? = nil) {
        self.position = position
        self.key = key
    }
}

/// A row's ctid.
package struct RowPosition: Sendable, Hashable {
    package let page: UInt32
    package let item: UInt16

    package init(page: UInt32, item: UInt16) {
        self.page = page
        self.item = item
    }
}
