/// A row that this program does not understand: the database holds what the schema does not allow.
struct UnreadableRow: Error, CustomStringConvertible {
    let detail: String

    var description: String { "unreadable row: \(detail)" }
}
