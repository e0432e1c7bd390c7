import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

/// Why a guarded statement touched no row: a time in the future, a deleted app, a record of another, or an erased one.
///
/// Each cause is a fact read from Postgres. An untouched row proves none of them.
enum Refusal {
    case clockSkew(serverTime: Date)
    case unknownApp
    case notYourInstallation
    case erased(serverTime: Date)
    case noRoom

    static let nobody: SQL = "'{}'::text[]"

    /// The facts for ``init(of:_:)``, read after the lock.
    ///
    /// - Parameters:
    ///   - foreign: an array with one text if the installation is another's.
    ///   - erased: the erased ones, likewise.
    ///   - lacksRoom: whether there is no room for one more.
    static func facts(
        ofApp id: Int64,
        foreign: SQL = nobody,
        erased: SQL = nobody,
        lacksRoom: SQL = "false"
    ) -> SQL {
        """
        SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_id = \(id)),
            \(sql: foreign), \(sql: erased), \(sql: lacksRoom)
        """
    }

    /// The statement allows 5 minutes; its clock was read some time before this one.
    private static let certainSkew = 290.0

    /// - Throws: ``UnforeseenRefusal`` if none of these causes holds.
    init(of observedAt: Date?, _ facts: PostgresRow) throws {
        let (serverTime, isKnown, foreign, erased, lacksRoom) = try facts.decode(
            Date.self,
            Bool.self,
            [String].self,
            [String].self,
            Bool.self
        )
        if let observedAt, observedAt.timeIntervalSince(serverTime) > Self.certainSkew {
            self = .clockSkew(serverTime: serverTime)
        } else if !isKnown {
            self = .unknownApp
        } else if !foreign.isEmpty {
            self = .notYourInstallation
        } else if !erased.isEmpty {
            self = .erased(serverTime: serverTime)
        } else if lacksRoom {
            self = .noRoom
        } else {
            throw UnforeseenRefusal()
        }
    }

    var problem: Problem {
        switch self {
        case .clockSkew(let serverTime):
            let fault = JSONFault(pointer: "/observedAt", detail: "is more than 5 minutes in the future")
            return Problem(.clockSkew([fault]), at: Timestamp(serverTime))
        case .unknownApp: return Problem(.unknownApp, "The app was deleted.")
        case .notYourInstallation: return .notYourInstallation
        case .noRoom: return Problem(.invalidRequest, "There is no room for it.")
        case .erased(let serverTime):
            var problem = Problem(
                .activityEnded,
                "It was erased, and what was observed before that does not come back."
            )
            problem.serverTime = serverTime
            return problem
        }
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

    static var notYourInstallation: Problem {
        Problem(
            .notYours,
            """
            The installation belongs to another user. PUT …/installations/{installationId} takes it over and clears its \
            aliases; only then may you change what is of it.
            """
        )
    }
}
