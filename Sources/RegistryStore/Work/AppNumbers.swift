import PostgresDriver

/// Parts of statements about all apps at once on one Postgres, and about one app after the other on Citus: it rejects
/// most statements that look rows up on several of its nodes.
enum AppNumbers {
    /// The apps for such a statement, one by one; nil stands for all.
    static func counted(_ session: borrowing PostgresSession) throws -> [Int64?] {
        guard session.isDistributed else { return [nil] }
        return try session.execute("SELECT a.app_number FROM apps a ORDER BY a.app_number").decode(Int64.self)
    }

    static func isOf(_ app: Int64?, _ row: String) -> SQL {
        app.map { "\(unescaped: row).app_number = \($0)" } ?? "true"
    }

    /// The row's own number if all apps are meant.
    static func number(_ app: Int64?, _ row: String) -> SQL {
        app.map { "\($0)" } ?? "\(unescaped: row).app_number"
    }
}
