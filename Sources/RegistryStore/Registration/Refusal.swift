import PostgresDriver
import RegistryCore
import RegistryRules

/// Why a guarded statement matched no row. The cause is read from Postgres, not inferred.
enum Refusal {
    static func facts(ofApp id: Int64) -> SQL { Query("apps.exists")(["app": id]) }

    /// - Throws: ``UnforeseenRefusal`` if the app exists.
    static func problem(_ facts: PostgresResult) throws -> Problem {
        if try facts[0].decode(Bool.self) { throw UnforeseenRefusal() }
        return Problem(.unknownApp, "The app was deleted.")
    }
}

/// A statement matched no row. The cause is unknown.
struct UnforeseenRefusal: Error, CustomStringConvertible {
    let description = "a statement matched no row, and the cause is unknown"
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
