/// A failure while talking to Postgres.
///
/// Its properties and ``description`` never contain values of rows, parameters, the connection string or a password.
public struct PostgresError: Error, Sendable, CustomStringConvertible {
    /// New codes may be added, so a switch needs a default.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The code's name in logs and metrics.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The code's ``rawValue``.
        public var description: String { rawValue }

        /// The server rejected a statement.
        public static let server = Code(rawValue: "server")
        /// No connection could be opened.
        public static let connectionFailed = Code(rawValue: "connectionFailed")
        /// An open connection broke.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// The deadline passed. If a statement was running, its connection was closed.
        public static let deadlineExceeded = Code(rawValue: "deadlineExceeded")
        /// A commit succeeded on the server, but its wait for the synchronous standby was cancelled, so a failover may
        /// lose it. Treat it like a lost connection.
        public static let commitNotReplicated = Code(rawValue: "commitNotReplicated")
        /// Too many callers wait for a connection.
        public static let poolExhausted = Code(rawValue: "poolExhausted")
        /// The pool was shut down.
        public static let poolClosed = Code(rawValue: "poolClosed")
        /// A column does not fit the requested Swift type.
        public static let decoding = Code(rawValue: "decoding")
        /// The driver was used incorrectly; the message names the rule.
        public static let misuse = Code(rawValue: "misuse")
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

    /// The kind of failure.
    public let code: Code
    /// Nil for failures outside the server.
    public let sqlState: String?
    /// `ERROR`, `FATAL` or `PANIC`, never translated; nil for failures outside the server.
    public let severity: String?
    /// The name of the violated constraint.
    public let constraint: String?
    /// The table that the server names.
    public let table: String?
    /// A message without values; nil if the server's message could contain values.
    public let message: String?
    /// Whether nothing took effect and a retry may succeed.
    public internal(set) var isSafeToRetry: Bool
    /// The file of the failed call.
    public internal(set) var file: String
    /// The line of the failed call.
    public internal(set) var line: Int

    let outcome: Outcome

    init(
        _ code: Code,
        _ message: String? = nil,
        outcome: Outcome = .final,
        sqlState: String? = nil,
        severity: String? = nil,
        constraint: String? = nil,
        table: String? = nil,
        at site: CallSite = .unknown
    ) {
        self.code = code
        self.message = message
        self.outcome = outcome
        self.isSafeToRetry = outcome == .nothingTookEffect
        self.sqlState = sqlState
        self.severity = severity
        self.constraint = constraint
        self.table = table
        self.file = site.file
        self.line = site.line
    }

    /// One line for logs.
    public var description: String {
        var text = "PostgresError.\(code)"
        for part in [sqlState, constraint.map { "constraint \($0)" }, table.map { "table \($0)" }, message] {
            if let part { text += ", \(part)" }
        }
        return file.isEmpty ? text : text + " (\(file):\(line))"
    }

    func located(at site: CallSite) -> PostgresError {
        guard file.isEmpty else { return self }
        var copy = self
        (copy.file, copy.line) = (site.file, site.line)
        return copy
    }
}

struct CallSite: Sendable {
    let file: String
    let line: Int

    static let unknown = CallSite(file: "", line: 0)
}

extension PostgresError {
    package var isUniqueViolation: Bool { sqlState == SQLState.uniqueViolation }
}
