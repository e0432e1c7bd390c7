import Foundation
import RegistryCore
import RegistryRules

extension Registry {
    package func register(
        _ registration: TokenRegistration,
        in slot: TokenSlot,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> TokenRegistrationResult {
        let time = registration.observedAt.map(Timestamp.init)
        let request = InstallationRequest(installation, observedAt: time, claimant: claimant, actor: who)
        let (token, digest) = (registration.token, TokenDigest(registration.token))
        let id = InstallationToken.ID(slot, of: installation)
        let locks = InstallationLocks(of: request, includesSlots: true)
        return try await transact { transaction, additionalIDs in
            let others = RowLocks(scope: scope, owners: additionalIDs, digests: [digest])
            var rows = try others.lockRows(locks, transaction)
            let effect = try rows.decide { rows throws(Rejection) in
                try rows.register(token, digest, in: id, hasOneOwner: slot.kind.hasOneOwner, request)
            }
            try rows.write(in: scope, transaction)
            return try rows.result(of: effect, in: slot, id)
        }
    }

    /// An unknown token leaves a tombstone.
    package func deleteToken(
        in slot: TokenSlot,
        of installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let observedAt = observedAt.map(Timestamp.init)
        let request = InstallationRequest(installation, observedAt: observedAt, claimant: claimant, actor: who)
        let id = InstallationToken.ID(slot, of: installation)
        let locks = InstallationLocks(of: request, includesSlots: true)
        try await transact { transaction, _ in
            var rows = try RowLocks(scope: scope).lockRows(locks, transaction)
            do throws(Problem) {
                try rows.decide { rows throws(Rejection) in
                    try rows.deleteToken(in: id, hasOneOwner: slot.kind.hasOneOwner, request)
                }
            } catch {
                guard error.isOfErased else { throw error }
                // An erased token is already gone.
                return
            }
            try rows.write(in: scope, transaction)
        }
    }
}

extension TokenSlot {
    var typeName: UTF8Text { attributesType?.rawValue ?? "" }
}

extension InstallationToken.ID {
    init(_ slot: TokenSlot, of installation: InstallationHash) {
        self.init(installation: installation, kind: slot.kind.name, attributesType: slot.typeName)
    }
}

extension LockedRows {
    fileprivate func result(
        of effect: RegistrationEffect,
        in slot: TokenSlot,
        _ id: InstallationToken.ID
    ) throws -> TokenRegistrationResult {
        guard let stored = installations.slots[id]?.value else { throw Problem.unforeseen }
        let loggedOutAt = installations[id.installation].times.loggedOutAt
        var status = TokenStatus(slot: slot, installation: id.installation)
        status.observedAt = stored.token?.observedAt.date
        if effect == .removed { status.observedAt = [stored.deletedAt, loggedOutAt].compactMap(\.self).max()?.date }
        if let refusal = refusal(effect, stored) {
            status.reason = refusal.reason
            var problem = Problem(refusal.code, refusal.detail)
            problem.token = status
            problem.serverTime = now.date
            throw problem
        }
        status.confirmedAt = stored.confirmedAt?.date
        status.reason = stored.withheld?.rawValue
        return TokenRegistrationResult(outcome: effect.outcome, status: status)
    }

    private func refusal(
        _ effect: RegistrationEffect,
        _ stored: InstallationToken
    ) -> (code: Problem.Code, reason: String, detail: String)? {
        switch effect {
        case .removed:
            let loggedOutAt = installations[stored.id.installation].times.loggedOutAt ?? .distantPast
            let remedy = "Register the current token with its time."
            return loggedOutAt >= stored.deletedAt ?? .distantPast
                ? (.superseded, "logged-out", "The installation logged out later. \(remedy)")
                : (.superseded, "deleted", "The token was deleted later. \(remedy)")
        case .superseded: return (.superseded, "rotated", "A token with a later observedAt is current.")
        default: break
        }
        guard let reason = stored.withheld else { return nil }
        let (code, detail): (Problem.Code, String)
        let remedy = "Register the token that the system delivers"
        switch reason {
        case .takenOver: (code, detail) = (.superseded, "Another installation registered this token later.")
        case .kindConflict:
            let kind = stored.token.flatMap { values[$0.digest]?.value.installation?.kind } ?? "different"
            (code, detail) = (.tokenKindConflict, "The value is known as a \(kind) token. \(remedy) for this kind.")
        case .unregistered:
            let cause = "APNs reported the token as dead after observedAt."
            (code, detail) = (.tokenUnregistered, "\(cause) \(remedy) now.")
        case .purged: (code, detail) = (.tokenUnregistered, "An admin purged the token. \(remedy) now.")
        case .quarantined: return nil
        }
        return (code, reason.rawValue, detail)
    }
}

extension Problem {
    /// Whether it concerns erased data. Such a problem contains no facts.
    var isOfErased: Bool { code == .activityEnded && activity == nil }
}

package struct TokenRegistrationResult: Sendable, Hashable, JSONObjectEncodable {
    /// `reactivated` if a deletion or a log-out had emptied the slot.
    package let outcome: RegistrationOutcome
    package let status: TokenStatus

    package func writeMembers(to json: inout JSONWriter) {
        status.writeMembers(to: &json)
        json.member("outcome", outcome.rawValue)
        json.member("confirmedAt", ifPresent: status.confirmedAt)
    }
}
