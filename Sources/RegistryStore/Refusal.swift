import Foundation
import PostgresDriver
import RegistryCore

/// Why a statement that is guarded against times in the future, deleted apps, records of others and erased ones touched
/// nothing.
enum Refusal {
    case clockSkew(serverTime: Date)
    case unknownApp
    case notYours
    case notYourInstallation
    case erased(serverTime: Date)

    /// What ``init(of:as:_:)`` reads, after the lock was got.
    static func facts(about ids: [String] = [], for claimant: Claimant = .any, in scope: Scope) -> SQL {
        """
        SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_number = \(scope.app.number)),
            \(sql: Ownership.foreign(ids, to: claimant, in: scope))
        """
    }

    static func facts(about installation: InstallationStatements) -> SQL {
        """
        SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_number = \(installation.scope.app.number)),
            \(sql: InstallationOwner.foreign(installation))
        """
    }

    static func facts(about batch: RegistrationBatch, in scope: Scope) -> SQL {
        """
        SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_number = \(scope.app.number)),
            \(sql: batch.foreign(in: scope))
        """
    }

    /// The statement lets 5 minutes pass; its clock was read some time before this one.
    private static let certainSkew = 290.0

    init(of observedAt: Date?, as id: String? = nil, _ facts: PostgresRow) throws {
        let (serverTime, isKnown, foreign) = try facts.decode(Date.self, Bool.self, [String].self)
        if let observedAt, observedAt.timeIntervalSince(serverTime) > Self.certainSkew {
            self = .clockSkew(serverTime: serverTime)
        } else {
            guard isKnown else {
                self = .unknownApp
                return
            }
            self = .erased(serverTime: serverTime)
            if let id {
                if foreign.contains(id) { self = .notYours }
            } else if !foreign.isEmpty {
                self = .notYourInstallation
            }
        }
    }

    /// What the caller is told.
    var problem: Problem {
        switch self {
        case .clockSkew(let serverTime): return .clockSkew(serverTime)
        case .unknownApp: return Problem(.unknownApp, "The app was deleted.")
        case .notYours: return .notYours
        case .notYourInstallation: return .notYourInstallation
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
    /// Says nothing of the record: what it is, is its owner's business.
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

    /// It is about what was erased, of which nothing is known any more.
    var isOfErased: Bool { code == .activityEnded && activity == nil }
}
