import PostgresDriver
import RegistryCore

extension Problem {
    init(_ error: PostgresError) {
        switch (error.constraint, error.sqlState?.prefix(2)) {
        case ("apps_tombstones_outlive_activities", _):
            self.init(.invalidRequest, "Tombstones must outlive activities.")
            errors = [
                JSONFault(pointer: "/tombstoneRetention", detail: "must be at least activityLifetime plus one hour")
            ]
        case _ where error.code == .connectionFailed:
            // Includes roles that cannot log in, for example while their password changes.
            self = .unavailable("Postgres did not accept a connection. Send the same request again.")
        case (_, "22"):
            self.init(.invalidRequest, "The request has a value that Postgres cannot store.")
            errors = [JSONFault(pointer: "", detail: "has a value that Postgres cannot store")]
        case _ where error.code == .decoding || error.code == .misuse: self = .unforeseen
        case (_, "40"), (_, "53"), (_, "55"), (_, "57"), (_, "25"), (_, "08"), (_, nil):
            self = .unavailable("Postgres did not answer in time. Send the same request again.")
        default: self = .unforeseen
        }
    }

    /// The request may be sent again.
    static func unavailable(_ detail: String) -> Problem {
        var problem = Problem(.unavailable, detail)
        problem.retryAfter = .seconds(1)
        return problem
    }
}
