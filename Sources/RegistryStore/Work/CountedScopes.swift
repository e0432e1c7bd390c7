import PostgresDriver

/// Parts of statements about all scopes at once on one Postgres, and about one scope after the other on Citus: it rejects
/// most statements that look rows up on several of its nodes.
enum CountedScopes {
    /// The scopes for such a statement, one by one; nil stands for all.
    static func all(_ session: borrowing PostgresSession) throws -> [Int64?] {
        guard session.isDistributed else { return [nil] }
        return try session.execute("SELECT s.scope_id FROM \(unescaped: source) ORDER BY s.scope_id")
            .decode(Int64.self)
    }

    /// The scopes `s`, without those of deleted apps, and their apps `app`.
    static let source = "scopes s JOIN apps app ON app.app_id = s.app_id"

    static func isOf(_ scope: Int64?, _ row: String) -> SQL {
        scope.map { "\(unescaped: row).scope_id = \($0)" } ?? "true"
    }

    /// The row's own scope if all are meant.
    static func id(_ scope: Int64?, _ row: String) -> SQL {
        scope.map { "\($0)" } ?? "\(unescaped: row).scope_id"
    }
}
