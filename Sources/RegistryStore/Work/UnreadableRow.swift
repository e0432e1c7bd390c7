/// A stored row that the schema does not allow.
struct UnreadableRow: Error, CustomStringConvertible {
    let detail: String

    var description: String { "unreadable row: \(detail)" }
}
