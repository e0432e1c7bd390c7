import PostgresDriver
import RegistryCore
import RegistryRules

/// Why a guarded statement matched no row. The cause is read from Postgres, not inferred.
enum Refusal {
    static func facts(ofApp id: Int64) -> SQL { Query.exists(["app": id]) }

    /// - Throws: ``UnforeseenRefusal`` if the app exists.
    static func problem(_ facts: PostgresResult) throws -> Problem {
        if try facts[0].decode(Bool.self) { throw UnforeseenRefusal() }
        return Problem(.unknownApp, "The app was deleted.")
    }
}

extension Problem {
    static let unforeseen = Problem(.internalError, "The registry could not carry out the request.")

    /// Contains no facts about the record, because it belongs to another claimant.
    static var notYours: Problem {
        Problem(
            .notYours,
            "The activity belongs to another user or installation; only they, or a sender or admin key, may change it."
        )
    }
}

extension Query {
    fileprivate static let exists: Query = "apps.exists"
}
