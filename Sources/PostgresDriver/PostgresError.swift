/// A failure while talking to Postgres.
///
/// Its properties and ``description`` never contain values of rows, parameters, the connection string or a password.
public struct PostgresError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The server rejected a statement.
        case server
        /// No connection could be opened.
        case connectionFailed
        /// An open connection broke.
        case connectionLost
        /// The deadline passed. If a statement was running, its connection was closed.
        case deadlineExceeded
        /// A commit succeeded on the server, but its wait for the synchronous standby was cancelled, so a failover may
        /// lose it. Treat it like a lost connection.
        case commitNotReplicated
        /// Too many callers wait for a connection.
        case poolExhausted
        /// The pool was shut down.
        case poolClosed
        /// A column does not fit the requested Swift type.
        case decoding
        /// The driver was used incorrectly; the message names the rule.
        case misuse
    }

    /// The known effects of the failed work.
    enum Outcome: Sendable {
        /// A retry would fail again, or only the caller can decide about it.
        case final
        /// Nothing took effect, and a retry may succeed.
        case nothingTookEffect
        /// The connection broke after something was sent, so it may be committed.
        case unknown
    }

    package let code: Code
    /// Nil for failures outside the server.
    package let sqlState: String?
    /// `ERROR`, `FATAL` or `PANIC`, never translated; nil for failures outside the server.
    package let severity: String?
    /// The name of the violated constraint.
    package let constraint: String?
    /// The table that the server names.
    package let table: String?
    /// A message without values; nil if the server's message could contain values.
    package let message: String?
    /// Whether nothing took effect and a retry may succeed.
    package internal(set) var isSafeToRetry: Bool
    /// The name of the failed query; nil for a statement without a name.
    package internal(set) var query: String?

    let outcome: Outcome

    init(
        _ code: Code,
        _ message: String? = nil,
        outcome: Outcome = .final,
        sqlState: String? = nil,
        severity: String? = nil,
        constraint: String? = nil,
        table: String? = nil
    ) {
        self.code = code
        self.message = message
        self.outcome = outcome
        self.isSafeToRetry = outcome == .nothingTookEffect
        self.sqlState = sqlState
        self.severity = severity
        self.constraint = constraint
        self.table = table
    }

    /// One line for logs.
    public var description: String {
        let parts = [
            sqlState, constraint.map { "constraint \($0)" }, table.map { "table \($0)" }, query.map { "query \($0)" },
            message,
        ]
        return (["PostgresError.\(code)"] + parts.compactMap(\.self)).joined(separator: ", ")
    }

    package var isUniqueViolation: Bool { sqlState == SQLState.uniqueViolation }

    func inQuery(_ name: String?) -> PostgresError {
        var copy = self
        copy.query = name
        return copy
    }
}
