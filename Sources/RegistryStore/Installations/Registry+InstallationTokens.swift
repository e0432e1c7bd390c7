import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Registers, rotates or refreshes an installation's start token, or its token of a kind.
    ///
    /// - Parameter claimant: by what right; a client names this same installation.
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`, `clockSkew`, `notYours`, `invalidRequest` for one
    ///   attributes type more than an installation may have.
    public func register(
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
                throw try Refusal(of: registration.observedAt, facts).problem
            }
            return try merged.answer(in: slot, of: installation)
        }
    }
}

extension MergedToken {
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`.
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

    /// Why the token is not the one that is handed out for this place, although the request was merged.
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

/// Where a page of an alias's start or device tokens ended.
public struct TokenPosition: Sendable, Hashable {
    /// The hash of the installation; empty before the first page.
    public let installation: [UInt8]
    /// The attributes type; empty for kinds that an installation has one of.
    public let type: UTF8Text

    /// Makes a position of its two parts.
    public init(installation: [UInt8], type: UTF8Text) {
        self.installation = installation
        self.type = type
    }

    /// Before the first page.
    public static let start = TokenPosition(installation: [], type: "")
}

extension ResolvedToken {
    /// Where a page ends whose last token this is.
    public var position: TokenPosition {
        TokenPosition(installation: installation.bytes, type: attributesType ?? "")
    }
}

extension Registry {
    /// Deletes what was observed of a token no later than the time; an unknown one leaves a tombstone.
    ///
    /// - Parameter claimant: by what right; a client names this same installation.
    /// - Throws: `clockSkew`, `notYours`, `invalidRequest` for one attributes type more than an installation may have.
    public func deleteToken(
        in slot: TokenSlot,
        of installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let rows = TokenSlotRows(slot: slot, installation: installation, scope: scope, claimant: claimant)
        let statements = TokenRemovalStatements(rows: rows, who: who).deletion(observedAt: observedAt)
        try await write { session in
            let results = try session.pipeline(statements)
            guard results[0].isEmpty || results[1].isEmpty else { return }
            let refusal = try Refusal(of: observedAt, session.execute(rows.refusalFacts(observedAt: observedAt))[0])
            // An erased token is gone already.
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
        by who: UTF8Text
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
        return try await read { try $0.execute(statement).decode(ResolvedToken.columns(of: kind)) }
    }
}
