/// The names by which the store finds a locked row again. No rule reads them.
package struct RowHandle: Sendable, Hashable {
    package let place: String
    package let key: Int64?

    package init(place: String, key: Int64? = nil) {
        self.place = place
        self.key = key
    }
}
