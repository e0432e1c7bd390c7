import PostgresDriver

/// Parts of statements that are about all apps at once on one Postgres, and on Citus about one after the other: it takes few
/// statements that look things up on several of its nodes.
enum AppNumbers {
    /// The apps about which such a statement is made, one by one; nil stands for all.
    static func counted(_ session: borrowing PostgresSession) throws -> [Int64?] {
        guard session.isDistributed else { return [nil] }
        return try session.execute("SELECT a.app_number FROM apps a ORDER BY a.app_number").decode(Int64.self)
    }

    /// The condition that a row is of the app.
    ///
    /// - Parameter row: the row's name in the statement.
    static func isOf(_ app: Int64?, _ row: String) -> SQL {
        app.map { "\(unescaped: row).app_number = \($0)" } ?? "true"
    }

    /// The app's number, which is that of the row where all apps are meant.
    static func number(_ app: Int64?, _ row: String) -> SQL {
        app.map { "\($0)" } ?? "\(unescaped: row).app_number"
    }
}
