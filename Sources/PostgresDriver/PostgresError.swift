import CLibpq

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

    init(report: OpaquePointer, canCommit: Bool) {
        let sqlState = ServerMessage.sqlState(Self.field("C", of: report), Self.field("M", of: report))
        let severity = Self.field("V", of: report)
        let endsConnection = sqlState == nil || severity == "FATAL" || severity == "PANIC"
        self.init(
            endsConnection ? .connectionLost : .server,
            ServerMessage.redacted(Self.field("M", of: report), sqlState: sqlState),
            outcome: endsConnection
                ? (canCommit ? .unknown : .nothingTookEffect)
                : SQLState.outcome(sqlState ?? "", raisedIn: Self.field("R", of: report)),
            sqlState: sqlState,
            severity: severity,
            constraint: Self.field("n", of: report)
                ?? ServerMessage.constraint(Self.field("M", of: report), sqlState: sqlState),
            table: Self.field("t", of: report)
        )
    }

    /// For the codes, see "Error and Notice Message Fields" in Postgres's documentation.
    static func field(_ code: Character, of report: OpaquePointer) -> String? {
        PQresultErrorField(report, Int32(code.asciiValue!)).map { String(cString: $0) }
    }

    /// The prepared statements no longer match the server. Only a new connection helps.
    var hasStalePreparedStatements: Bool {
        sqlState == "26000" || (sqlState == "0A000" && outcome == .nothingTookEffect)
    }

    /// A retry is always safe, because no caller's statement was sent. Misuse stays misuse.
    var asConnectFailure: PostgresError {
        guard code != .misuse else { return self }
        return PostgresError(
            .connectionFailed,
            code == .deadlineExceeded ? "timeout" : message ?? code.rawValue,
            outcome: .nothingTookEffect,
            sqlState: sqlState,
            severity: severity
        )
    }
}

enum SQLState {
    static let readOnlyTransaction = "25006"
    static let queryCanceled = "57014"
    static let uniqueViolation = "23505"

    /// The server has rolled back, and a retry may succeed.
    private static let transient: Set<String> = [
        "40001", "40P01",  // serialization failure, deadlock
        readOnlyTransaction,  // the host was demoted; another host may be the primary
        "55P03",  // lock timeout
        queryCanceled,  // statement timeout
        "26000",  // the prepared statement is gone, so nothing ran
    ]

    static func outcome(_ sqlState: String, raisedIn function: String?) -> PostgresError.Outcome {
        switch (sqlState, function) {
        // Any unsupported feature has this code, but only this function raises "cached plan must not change result
        // type".
        case ("0A000", "RevalidateCachedQuery"): .nothingTookEffect
        // Any failed check has this code. From this function: a partition for the row appeared while the insert waited
        // for the default partition.
        case ("23514", "ExecPartitionCheckEmitError"): .nothingTookEffect
        default: transient.contains(sqlState) ? .nothingTookEffect : .final
        }
    }
}

enum ServerMessage {
    /// Classes with primary messages that name objects and states, but never quote values of rows.
    private static let classesWithoutValues: Set<Substring> = [
        "08", "0A", "21", "25", "26", "28", "34", "3D", "3F", "40", "42", "53", "54", "55", "57", "58",
    ]

    /// The name of the violated constraint (class 23), from the message: for another node's error, Citus passes on only
    /// the text.
    static func constraint(_ message: String?, sqlState: String?) -> String? {
        guard let message, sqlState?.hasPrefix("23") == true else { return nil }
        return message.firstMatch(of: #/constraint "([a-z0-9_]+)"$/#).map { String($0.1) }
    }

    /// To insert several rows, Citus runs COPY on a worker, and passes on only the text of its error.
    static func sqlState(_ sqlState: String?, _ message: String?) -> String? {
        let isDuplicate = message?.hasPrefix("duplicate key value violates unique constraint") ?? false
        return sqlState == "XX000" && isDuplicate ? SQLState.uniqueViolation : sqlState
    }

    /// The server's primary message; nil if it could contain values.
    static func redacted(_ message: String?, sqlState: String?) -> String? {
        guard let message, let sqlState else { return nil }
        // Class 42 covers syntax errors and unknown names. Class 22, for example 22P02, quotes input and is excluded.
        return classesWithoutValues.contains(sqlState.prefix(2)) ? message : nil
    }

    /// libpq's message without quoted parts.
    ///
    /// If a password contains an unescaped `@` or `/`, libpq quotes parts of it as a host or port.
    static func withoutQuotations(_ message: UnsafePointer<CChar>?) -> String {
        guard let message else { return "out of memory" }
        let parts = String(cString: message).split(separator: "\"", omittingEmptySubsequences: false)
        let kept = parts.enumerated().map { $0.offset.isMultiple(of: 2) ? String($0.element) : "…" }
        return kept.joined(separator: "\"").split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
    }

    /// libpq's message about an invalid connection string, without the text from the first to the last double quote,
    /// because a quotation may contain quotes.
    static func ofConnectionString(_ message: UnsafePointer<CChar>?) -> String {
        guard let message else { return "out of memory" }
        let line = String(cString: message).split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.replacing(#/".*"/#, with: "\"…\"")
    }
}
