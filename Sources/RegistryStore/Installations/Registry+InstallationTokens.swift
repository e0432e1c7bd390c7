import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`, `clockSkew`, `notYours`, or `invalidRequest`
    ///   for too many attributes types.
    package func register(
        _ registration: TokenRegistration,
        in slot: TokenSlot,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> TokenRegistrationResult {
        let observedAt = registration.observedAt.map(Timestamp.init)
        let request = InstallationRequest(installation, observedAt: observedAt, claimant: claimant, actor: who)
        let unit = TokenUnit(slot: slot, request: request, scope: scope)
        return try await transact { try unit.register(registration.token, in: $0, locking: $1) }
    }

    /// An unknown token leaves a tombstone.
    ///
    /// - Throws: `clockSkew`, `notYours`, or `invalidRequest` for too many attributes types.
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
        let unit = TokenUnit(slot: slot, request: request, scope: scope)
        try await transact { transaction, _ in try unit.delete(in: transaction) }
    }
}

extension TokenSlot {
    /// Empty for kinds that allow one token per installation.
    var typeName: UTF8Text { attributesType?.rawValue ?? "" }
}

extension InstallationToken.ID {
    init(_ slot: TokenSlot, of installation: InstallationHash) {
        self.init(installation: installation, kind: slot.kind.name, attributesType: slot.typeName)
    }
}

private struct TokenUnit {
    let slot: TokenSlot
    let request: InstallationRequest
    let scope: Scope

    private var id: InstallationToken.ID { InstallationToken.ID(slot, of: request.installation) }

    func register(
        _ token: PushToken,
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> TokenRegistrationResult {
        let digest = TokenDigest(token)
        let locks = InstallationLocks(of: request, includesSlots: true)
        var rows = try RowLocks(owners: additionalIDs, digests: [digest]).lockRows(locks, in: scope, transaction)
        let effect = try rows.decide { rows throws(Rejection) in
            try rows.register(token, digest, in: id, hasOneOwner: slot.kind.hasOneOwner, request)
        }
        try rows.write(in: scope, transaction, isLast: true)
        return try result(of: effect, rows)
    }

    func delete(in transaction: borrowing PostgresTransaction) throws {
        let locks = InstallationLocks(of: request, includesSlots: true)
        var rows = try RowLocks().lockRows(locks, in: scope, transaction)
        do throws(Problem) {
            try rows.decide { rows throws(Rejection) in
                try rows.deleteToken(in: id, hasOneOwner: slot.kind.hasOneOwner, request)
            }
        } catch {
            guard error.isOfErased else { throw error }
            // An erased token is already gone.
            return
        }
        try rows.write(in: scope, transaction, isLast: true)
    }

    // MARK: The answer to a registration

    private func result(of effect: InstallationToken.Effect, _ rows: LockedRows) throws -> TokenRegistrationResult {
        guard let stored = rows.installations.slots[id]?.value else { throw Problem.unforeseen }
        let loggedOutAt = rows.installations[request.installation].times.loggedOutAt
        var status = TokenStatus(slot: slot, installation: request.installation)
        status.observedAt = stored.token?.observedAt.date
        if effect == .removed { status.observedAt = [stored.deletedAt, loggedOutAt].compactMap(\.self).max()?.date }
        if let refusal = refusal(effect, stored, rows) {
            status.reason = refusal.reason
            var problem = Problem(refusal.code, refusal.detail)
            problem.token = status
            problem.serverTime = rows.now.date
            throw problem
        }
        status.confirmedAt = stored.confirmedAt?.date
        status.reason = stored.withheld?.rawValue
        return TokenRegistrationResult(outcome: RegistrationOutcome(effect), status: status)
    }

    private func refusal(
        _ effect: InstallationToken.Effect,
        _ stored: InstallationToken,
        _ rows: LockedRows
    ) -> (code: Problem.Code, reason: String, detail: String)? {
        switch effect {
        case .removed:
            let loggedOutAt = rows.installations[request.installation].times.loggedOutAt ?? .distantPast
            let remedy = "Register the current token with its time."
            return loggedOutAt >= stored.deletedAt ?? .distantPast
                ? (.superseded, "logged-out", "The installation logged out later. \(remedy)")
                : (.superseded, "deleted", "The token was deleted later. \(remedy)")
        case .superseded: return (.superseded, "rotated", "A token with a later observedAt is current.")
        case .registered, .rotated, .refreshed, .reactivated: break
        }
        guard let reason = stored.withheld else { return nil }
        let (code, detail): (Problem.Code, String)
        let remedy = "Register the token that the system delivers"
        switch reason {
        case .takenOver: (code, detail) = (.superseded, "Another installation registered this token later.")
        case .kindConflict:
            let kind = stored.token.flatMap { rows.values[$0.digest]?.value.installation?.kind } ?? "different"
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

extension RegistrationOutcome {
    fileprivate init(_ effect: InstallationToken.Effect) {
        switch effect {
        case .registered: self = .registered
        case .rotated: self = .rotated
        case .reactivated: self = .reactivated
        case .refreshed, .superseded, .removed: self = .refreshed
        }
    }
}

extension Problem {
    /// Whether it concerns erased data. Such a problem contains no facts.
    var isOfErased: Bool { code == .activityEnded && activity == nil }
}
