import EmbeddedPostgres
import PostgresDriver
import RegistryCore
import RegistryStore

extension CommandFailure {
    /// What an error means for the user of the command; nil for errors that only the argument parser can tell.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let problem as Problem: self.init(problem: problem)
        case let error as PostgresError: self.init(postgres: error)
        case let error as SchemaError: self.init(.unavailable, error.description)
        case let error as UnsafeDurability: self.init(.unavailable, error.description)
        case let error as EmbeddedPostgresError: self.init(.unavailable, error.description)
        default: return nil
        }
    }

    private init(problem: Problem) {
        let faults = problem.errors.map { " \($0.pointer.dropFirst()) \($0.detail)." }.joined()
        let status: Status =
            switch problem.code.status {
            case 401, 403: .notPermitted
            case 400, 422: .usage
            case 429, 503: .unavailable
            default: .failed
            }
        self.init(status, problem.detail + faults)
    }

    private init(postgres error: PostgresError) {
        let reason = error.message ?? error.sqlState.map { "it answered with SQLSTATE \($0)" } ?? "\(error.code)"
        switch (error.code, error.sqlState) {
        case (.misuse, _):
            self.init(.usage, "The database cannot be used: \(reason).")
        // Class 28 is a wrong user or password, 42501 a missing privilege (Postgres's Appendix A).
        case (_, let state?) where state.hasPrefix("28") || state == "42501":
            self.init(.notPermitted, "Postgres refuses: \(reason).")
        case (.server, _):
            self.init(.failed, "Postgres refuses: \(reason).")
        default:
            self.init(.unavailable, "Postgres does not answer: \(reason).")
        }
    }
}
