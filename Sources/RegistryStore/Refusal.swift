import Foundation
import PostgresDriver
import RegistryCore

/// Why a statement that is guarded against times in the future, deleted apps and erased records touched nothing.
enum Refusal {
    case clockSkew(serverTime: Date)
    case unknownApp
    case erased(serverTime: Date)

    /// What ``init(of:_:)`` reads, after the lock was got.
    static func facts(in scope: Scope) -> SQL {
        "SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_number = \(scope.app.number))"
    }

    /// The statement lets 5 minutes pass; its clock was read some time before this one.
    private static let certainSkew = 290.0

    init(of observedAt: Date?, _ facts: PostgresRow) throws {
        let (serverTime, isKnown) = try facts.decode(Date.self, Bool.self)
        if let observedAt, observedAt.timeIntervalSince(serverTime) > Self.certainSkew {
            self = .clockSkew(serverTime: serverTime)
        } else {
            self = isKnown ? .erased(serverTime: serverTime) : .unknownApp
        }
    }

    /// What the caller is told.
    var problem: Problem {
        switch self {
        case .clockSkew(let serverTime): return .clockSkew(serverTime)
        case .unknownApp: return Problem(.unknownApp, "The app was deleted.")
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
    /// It is about what was erased, of which nothing is known any more.
    var isOfErased: Bool { code == .activityEnded && activity == nil }
}
