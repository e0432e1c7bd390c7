import PostgresDriver
import RegistryCore

/// A range of a kind's token rows, in the order of their immutable numbers.
struct NumberRange: DecodableRow {
    /// Nil after the last row.
    let last: Int64?
    let count: Int
    let firstOfAll: Int64?
    let lastOfAll: Int64?

    init(row: NamedRow) throws {
        last = try row["last"]
        count = try row["count"]
        firstOfAll = try row["first_of_all"]
        lastOfAll = try row["last_of_all"]
    }

    static func find(of kind: TokenKind, after number: Int64, size: Int, in scope: Scope) -> SQL {
        let values: QueryValues = ["scope": scope.id, "after": number, "size": size]
        return kind.holder == .activity
            ? Query("audit.find-activity-range")(values) : Query("audit.find-token-range")(values + ["kind": kind.name])
    }
}
