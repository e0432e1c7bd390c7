/// The names by which the store finds a locked row again. No rule reads them.
package struct RowHandle: Sendable, Hashable {
    package let place: RowPlace
    package let key: Int64?

    package init(place: RowPlace, key: Int64? = nil) {
        self.place = place
        self.key = key
    }
}

/// The place of a row in its table, which Postgres calls ctid.
package struct RowPlace: Sendable, Hashable {
    package let page: UInt32
    package let item: UInt16

    package init(page: UInt32, item: UInt16) {
        self.page = page
        self.item = item
    }
}
