import PostgresDriver
import RegistryCore
import RegistryRules

/// Why a guarded statement touched no row. An untouched row alone proves nothing, so the cause is read from Postgres.
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

    /// Reveals nothing about the record, which belongs to another.
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
