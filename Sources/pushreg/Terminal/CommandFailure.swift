import EmbeddedPostgres
import PostgresDriver
import RegistryCore
import RegistryStore

/// A sentence for the user and an exit code for programs.
struct CommandFailure: Error, Sendable, CustomStringConvertible {
    /// From `sysexits.h`. The argument parser exits with 64, too.
    enum Status: Int32, Sendable {
        case failed = 1
        case usage = 64
        case unavailable = 69
        case notPermitted = 77
    }

    let status: Status
    /// Contains no password and no token.
    let sentence: String

    init(_ status: Status, _ sentence: String) { (self.status, self.sentence) = (status, sentence) }

    var description: String { sentence }

    static func noApp(_ bundleID: BundleID) -> CommandFailure {
        CommandFailure(.failed, "The app \(bundleID) does not exist.")
    }

    init(_ problem: Problem) {
        let status: Status =
            switch problem.code.status {
            case 401, 403: .notPermitted
            case 400, 422: .usage
            case 429, 503: .unavailable
            default: .failed
            }
        self.init(status, problem.detail + problem.errorSentences)
    }

    /// Nil for unexpected errors.
    init?(cause error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let problem as Problem: self.init(problem)
        case let error as PostgresError: self.init(postgres: error)
        case is UnsafeDurability, is DistributionError, is SchemaError, is SharedSessions, is EmbeddedPostgresError:
            self.init(.unavailable, "\(error)")
        default: return nil
        }
    }

    // Omits the error's description, because it names source files.
    private init(postgres error: PostgresError) {
        switch (error.code, error.sqlState) {
        case (.misuse, _):
            self.init(.usage, "The \(error.reason)")
        // Class 28 is a wrong user or password, 42501 a missing privilege (Postgres's manual, appendix A).
        case (_, let state?) where state.hasPrefix("28") || state == "42501":
            let schema = error.reason.firstMatch(of: #/denied for schema (.+)\./#)?.1
            let remedy =
                schema.map { " As the owner of the database: GRANT USAGE, CREATE ON SCHEMA \($0) TO this user." } ?? ""
            self.init(.notPermitted, "Postgres refuses: \(error.reason)\(remedy)")
        // The client has no password, so the server made no decision.
        case (.connectionFailed, nil) where error.message?.hasSuffix("no password supplied") == true:
            self.init(.notPermitted, "Postgres requires a password, and the settings have none.")
        case (.connectionFailed, nil) where error.message?.contains("failed: Permission denied") == true:
            self.init(.notPermitted, "This user may not connect to Postgres: \(error.reason)")
        case (.connectionFailed, _) where error.message?.contains("unsupported startup parameter") == true:
            let remedy = "Remove options; ALTER ROLE … SET search_path = … sets a schema."
            self.init(.usage, "The pooler refuses options of the connection string: \(error.reason) \(remedy)")
        case (.connectionFailed, nil) where error.message?.contains("root certificate file") == true:
            self.init(.usage, "The connection string needs sslrootcert, the file with Postgres's CA: \(error.reason)")
        case _ where SharedSessions.caused(error): self.init(.unavailable, "\(SharedSessions()) (\(error.reason))")
        default:
            self.init(.unavailable, "Postgres is not available: \(error.reason)")
        }
    }
}

extension PostgresError {
    fileprivate var reason: String {
        if message == "timeout" { return "it did not answer in time." }
        var text = message ?? sqlState.map { "SQLSTATE \($0)" } ?? code.rawValue
        // libpq puts its own text before the server's `FATAL:  28P01: password authentication failed …`.
        if let quotation = text.matches(of: #/[A-Z]+: {2}[0-9A-Z]{5}: /#).last {
            text.removeSubrange(..<quotation.range.upperBound)
        }
        return text.last.map { ".?!".contains($0) } == true ? text : text + "."
    }
}

extension Problem {
    /// A sentence per error, each after a space.
    var errorSentences: String {
        errors.map { fault in
            let subject = fault.pointer.isEmpty ? "It" : String(fault.pointer.dropFirst())
            return " \(subject) \(fault.detail)."
        }.joined()
    }
}
