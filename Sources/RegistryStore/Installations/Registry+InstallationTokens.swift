import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// - Parameter claimant: a client names this same installation.
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`, `clockSkew`, `notYours`, `invalidRequest` for
    ///   one attributes type more than an installation may have.
    package func register(
        _ registration: TokenRegistration,
        in slot: TokenSlot,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> TokenRegistrationAnswer {
        let rows = TokenSlotRows(slot: slot, installation: installation, scope: scope, claimant: claimant)
        let statements = TokenRegistrationStatements(registration: registration, rows: rows, who: who)
        return try await write { session in
            let results = try session.pipeline(statements.all)
            guard let merged = try results[statements.reactivationIndex].decode(MergedToken.columns).first else {
                let facts = try session.execute(rows.refusalFacts(observedAt: registration.observedAt))[0]
                throw rows.problem(of: try Refusal(of: registration.observedAt, facts))
            }
            return try merged.answer(in: slot, of: installation)
        }
    }
}

extension MergedToken {
    fileprivate func answer(
        in slot: TokenSlot,
        of installation: InstallationHash
    ) throws(Problem) -> TokenRegistrationAnswer {
        var status = TokenStatus(slot: slot, installation: installation)
        status.observedAt = observedAt
        if let refusal = refusal(in: slot) {
            status.reason = refusal.reason
            if outcome == "refused" { status.observedAt = [deletedAt, removedAt].compactMap(\.self).max() }
            var problem = Problem(refusal.code, refusal.detail)
            problem.token = status
            problem.serverTime = serverTime
            throw problem
        }
        status.confirmedAt = confirmedAt
        if verdict == .quarantined { status.reason = verdict?.rawValue }
        return TokenRegistrationAnswer(
            outcome: RegistrationOutcome(rawValue: outcome) ?? .refreshed,
            status: status
        )
    }

    private typealias TokenRefusal = (code: Problem.Code, reason: String, detail: String)

    /// Why the token is withheld although the request was merged.
    private func refusal(in slot: TokenSlot) -> TokenRefusal? {
        switch outcome {
        case "refused": removal
        case "superseded":
            (.superseded, "rotated", "Another token of this place was observed later. Read the token again.")
        default: conflict
        }
    }

    private var removal: TokenRefusal {
        guard let removedAt, deletedAt.map({ $0 <= removedAt }) ?? true else {
            return (.superseded, "deleted", "It was deleted since. Register what holds now, with its time.")
        }
        return (.superseded, "logged-out", "The installation logged out since. Register what holds now, with its time.")
    }

    private var conflict: TokenRefusal? {
        switch verdict {
        case .kindConflict:
            let known = "The value is known as a \(ownerKind ?? "different") token."
            return (.tokenKindConflict, "kind-conflict", known + " Register the token that the system gave for this.")
        case .takenOver: return (.superseded, "taken-over", "Another installation registered this token later.")
        case .unregistered:
            let detail =
                "APNs said after observedAt that this token is dead. Register the one that the system gives now."
            return (.tokenUnregistered, "unregistered", detail)
        default: return nil
        }
    }
}
