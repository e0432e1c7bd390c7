import PostgresDriver
import RegistryCore

/// The rows with tokens of a kind, read by their immutable numbers.
struct NumberedRows {
    let kind: TokenKind
    let scope: Scope

    private var isOfActivities: Bool { kind.holder == .activity }
    var table: String { isOfActivities ? "activities" : "installation_tokens" }
    var number: String { isOfActivities ? "activity_key" : "token_number" }

    /// Written so that the index of numbers is used.
    func contains(_ row: String) -> SQL {
        """
        \(sql: scope.contains(row)) AND \(unescaped: row).\(unescaped: number) > 0
        \(sql: isOfActivities ? "" : "AND \(unescaped: row).kind = \(kind.name)")
        """
    }

    /// The last number of the next range, and its number of rows.
    func range(after position: Int64, size: Int) -> SQL {
        """
        SELECT max(s.number) AS last, count(*) AS count FROM (
            SELECT r.\(unescaped: number) AS number FROM \(unescaped: table) r
            WHERE \(sql: contains("r")) AND r.\(unescaped: number) > \(position)
            ORDER BY r.\(unescaped: number) LIMIT \(size)
        ) AS s
        """
    }

    func column(_ column: String, of numbers: [Int64]) -> SQL {
        """
        SELECT found.it FROM unnest(\(numbers)) AS named (number) CROSS JOIN LATERAL (
            SELECT \(unescaped: column) AS it FROM \(unescaped: table) its
            WHERE \(sql: contains("its")) AND its.\(unescaped: number) = named.number LIMIT 1
        ) AS found
        """
    }
}
