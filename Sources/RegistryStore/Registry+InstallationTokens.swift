import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Registers, rotates or refreshes an installation's start token, or its token of a kind.
    ///
    /// - Parameter claimant: by what right; a client names this same installation.
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`, `clockSkew`, `notYours`.
    public func register(
        _ registration: TokenRegistration,
        in slot: TokenSlot,
        of installation: InstallationHash,
        in scope: Scope,
        by who: String,
        claimant: Claimant = .any
    ) async throws -> TokenRegistrationAnswer {
        let rows = TokenSlotRows(slot: slot, installation: installation, scope: scope, claimant: claimant)
        let statements = TokenRegistrationStatements(registration: registration, rows: rows, who: who)
        return try await write { session in
            let all = statements.all
            let results = try session.pipeline(all + [Refusal.facts(about: rows.statements)])
            guard let row = results[statements.standingIndex].rows.first else {
                throw try Refusal(of: registration.observedAt, results[all.count][0]).problem
            }
            return try MergedToken(row).answer(in: slot, of: installation)
        }
    }
}

extension MergedToken {
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`.
    fileprivate func answer(
        in slot: TokenSlot,
        of installation: InstallationHash
    ) throws(Problem) -> TokenRegistrationAnswer {
        var standing = TokenStanding(slot: slot, installation: installation)
        standing.observedAt = observedAt
        if let refusal = refusal(in: slot) {
            standing.reason = refusal.reason
            if outcome == "refused" { standing.observedAt = [deletedAt, removedAt].compactMap(\.self).max() }
            var problem = Problem(refusal.code, refusal.detail)
            problem.token = standing
            problem.serverTime = serverTime
            throw problem
        }
        standing.confirmedAt = confirmedAt
        if let quarantinedAt, claimedAt <= quarantinedAt { standing.reason = "quarantined" }
        return TokenRegistrationAnswer(
            outcome: RegistrationOutcome(rawValue: outcome) ?? .refreshed,
            standing: standing
        )
    }

    private typealias TokenRefusal = (code: Problem.Code, reason: String, detail: String)

    /// Why the token is not the one that is handed out for this place, although the request was merged.
    private func refusal(in slot: TokenSlot) -> TokenRefusal? {
        switch outcome {
        case "refused": removal
        case "superseded":
            (.superseded, "rotated", "Another token of this place was observed later. Read the token again.")
        default: conflict(in: slot)
        }
    }

    private var removal: TokenRefusal {
        guard let removedAt, deletedAt.map({ $0 <= removedAt }) ?? true else {
            return (.superseded, "deleted", "It was deleted since. Register what holds now, with its time.")
        }
        return (.superseded, "logged-out", "The installation logged out since. Register what holds now, with its time.")
    }

    private func conflict(in slot: TokenSlot) -> TokenRefusal? {
        if let ownerKind, ownerKind != slot.kind.name {
            let detail = "The value is known as a \(ownerKind) token. Register the token that the system gave for this."
            return (.tokenKindConflict, "kind-conflict", detail)
        }
        if isOfAnother == true, slot.hasOneOwner {
            return (.superseded, "taken-over", "Another installation registered this token later.")
        }
        if let deadAt, claimedAt <= deadAt {
            let detail =
                "APNs said after observedAt that this token is dead. Register the one that the system gives now."
            return (.tokenUnregistered, "unregistered", detail)
        }
        return nil
    }
}

/// Where a page of an alias's start or device tokens ended.
public struct TokenPosition: Sendable, Hashable {
    /// The hash of the installation; empty before the first page.
    public let installation: [UInt8]
    /// The attributes type, or the name of the kind.
    public let key: String

    public init(installation: [UInt8], key: String) {
        self.installation = installation
        self.key = key
    }

    /// Before the first page.
    public static let start = TokenPosition(installation: [], key: "")
}

extension ResolvedToken {
    /// Where a page ends whose last token this is.
    public var position: TokenPosition {
        TokenPosition(installation: installation.bytes, key: attributesType ?? kind.name)
    }
}

extension Registry {
    /// Deletes what was observed of a token no later than the time; an unknown one leaves a tombstone.
    ///
    /// - Parameter claimant: by what right; a client names this same installation.
    /// - Throws: `clockSkew`, `notYours`.
    public func deleteToken(
        in slot: TokenSlot,
        of installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: String,
        claimant: Claimant = .any
    ) async throws {
        let rows = TokenSlotRows(slot: slot, installation: installation, scope: scope, claimant: claimant)
        let statements = TokenRemovalStatements(rows: rows, who: who).deletion(observedAt: observedAt)
        try await write { session in
            let results = try session.pipeline(statements + [Refusal.facts(about: rows.statements)])
            guard results[0].isEmpty else { return }
            let refusal = try Refusal(of: observedAt, results[statements.count][0])
            // What was erased is gone as it is.
            if case .erased = refusal { return }
            throw refusal.problem
        }
    }

    /// Takes a token's value out of quarantine, or leaves it as it is when it is in none.
    ///
    /// - Throws: `tokenNotFound`.
    public func releaseToken(
        in slot: TokenSlot,
        of installation: InstallationHash,
        in scope: Scope,
        by who: String
    ) async throws {
        let rows = TokenSlotRows(slot: slot, installation: installation, scope: scope)
        let statements = TokenRemovalStatements(rows: rows, who: who).release
        try await write { session in
            guard try session.pipeline(statements)[1].isEmpty else { return }
            throw Problem(.tokenNotFound, "The installation has no such token.")
        }
    }

    /// One page of the start tokens, or of the tokens of a kind, of the installations that an alias names.
    ///
    /// - Parameters:
    ///   - attributesType: only start tokens of this type.
    ///   - position: of the last token of the page before.
    public func tokens(
        under alias: Alias,
        _ kind: TokenKind,
        attributesType: AttributesType? = nil,
        after position: TokenPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> [ResolvedToken] {
        let statement = TokenResolveStatements.page(
            of: alias,
            kind,
            attributesType: attributesType,
            after: position,
            limit: limit,
            in: scope
        )
        return try await read { session in
            try session.execute(statement).rows.map { try ResolvedToken($0, kind: kind) }
        }
    }
}
