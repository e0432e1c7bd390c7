import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// A client's owner is its own installation or subject.
    package func register(
        _ registration: ActivityRegistration,
        alias: UTF8Text,
        owner: ActivityOwner,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> RegistrationResult {
        let unit = NameOnlyUnit(alias: alias, owner: owner, scope: scope, who: who, claimant: claimant)
        let named = try registration.named(alias, owner)
        return try await transact { try unit.register(named, in: $0, locking: $1) }.get()
    }

    /// Leaves a tombstone even if no activity runs. A client's owner is its own installation or subject.
    package func end(
        alias: UTF8Text,
        owner: ActivityOwner,
        reason: EndReason,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let unit = NameOnlyUnit(alias: alias, owner: owner, scope: scope, who: who, claimant: claimant)
        try await transact { transaction, _ in
            try unit.end(reason: reason, observedAt: observedAt.map(Timestamp.init), in: transaction)
        }
    }
}

private struct NameOnlyUnit {
    let alias: UTF8Text
    let owner: ActivityOwner
    let scope: Scope
    let who: UTF8Text
    let claimant: Claimant

    func register(
        _ registration: ActivityRegistration,
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> Result<RegistrationResult, Problem> {
        var identity = try lockIdentity(transaction)
        let digest = registration.token.map(TokenDigest.init)
        let locks = RowLocks(
            scope: scope,
            ids: Set([identity.value.activityID].compactMap(\.self)),
            owners: additionalIDs,
            digests: Set([digest].compactMap(\.self)),
            installations: Set([registration.installation].compactMap(\.self))
        )
        var rows = try locks.lockRows(transaction)
        let former = identity.value.activityID
        let id: ActivityID
        do throws(Rejection) {
            id = try identity.value.activity(
                of: registration,
                digest: digest,
                claimant: claimant,
                in: rows,
                newID: .serverMade(after: former, at: rows.now.date)
            )
        } catch {
            var problem = Problem(error, at: rows.now)
            if error == .ended { problem.activity = former.flatMap { rows.status(of: $0) } }
            return .failure(problem)
        }
        let known = Registration(registration, of: id, digest: digest, claimant: claimant, actor: who)
        let result = try RegistrationUnit(registrations: [known], scope: scope).merge(&rows, transaction)[0]
        guard rows.isChanged else { return result }
        let write = write(identity, touchedAt: max(rows.now, known.startsAt ?? rows.now))
        try rows.write(in: scope, transaction, and: [write])
        return result
    }

    func end(reason: EndReason, observedAt: Timestamp?, in transaction: borrowing PostgresTransaction) throws {
        var identity = try lockIdentity(transaction)
        let former = identity.value.activityID
        let locks = RowLocks(scope: scope, ids: Set([former].compactMap(\.self)), installations: [])
        var rows = try locks.lockRows(transaction)
        let newID = ActivityID.serverMade(after: former, at: rows.now.date)
        let ended = try rows.decide { rows throws(Rejection) in
            try identity.value.end(observedAt: observedAt, in: rows, newID: newID)
        }
        let unit = EndUnit(scope: scope, reason: reason, observedAt: observedAt, who: who, claimant: claimant)
        if let ended { _ = try unit.apply(to: [ended], &rows, transaction) }
        try rows.write(in: scope, transaction, and: [write(identity, touchedAt: rows.now)])
    }

    private typealias Identity = (value: NameIdentity, isNew: Bool)

    private func lockIdentity(_ transaction: borrowing PostgresTransaction) throws -> Identity {
        let lock = Query("name-only.lock-identity")(["scope": scope.id, "alias": alias, "owner": owner.stored])
        let known = try transaction.execute(lock).decode { row in
            NameIdentity(activityID: try row["activity_id"], endedAt: try row["ended_at"])
        }.first
        return (known ?? NameIdentity(activityID: nil, endedAt: nil), known == nil)
    }

    private func write(_ identity: Identity, touchedAt: Timestamp) -> SQL {
        let query: Query = identity.isNew ? "name-only.insert-identity" : "name-only.update-identity"
        return query([
            "scope": scope.id, "alias": alias, "owner": owner.stored, "activity": identity.value.activityID,
            "ended_at": identity.value.endedAt, "touched_at": touchedAt,
        ])
    }
}

extension ActivityRegistration {
    fileprivate func named(_ alias: UTF8Text, _ owner: ActivityOwner) throws(Problem) -> ActivityRegistration {
        var named = self
        if case .installation(let hash) = owner { named.installation = hash }
        if case .subject(let subject) = owner { named.subject = subject }
        let name = Alias(checkedKind: Alias.liveActivityKind, value: alias)
        named.defaultAliases = AliasSet(stored: [name])
        do throws(JSONFaultReason) {
            if let aliases { named.aliases = try AliasSet(aliases.aliases + [name]) }
        } catch {
            let fault = JSONFault(pointer: "/aliases", detail: error.detail)
            throw Problem(.invalidRequest, "The aliases, including liveactivityId, are not valid.", errors: [fault])
        }
        return named
    }
}

extension ActivityID {
    /// 12 hex digits of milliseconds since 1970, and 16 random digits. The id is greater than the former id, so if two
    /// activities claim a token at the same time, the later activity gets it.
    static func serverMade(after former: ActivityID?, at now: Date) -> ActivityID {
        let last = former.flatMap { UInt64($0.rawValue.string.prefix(12), radix: 16) } ?? 0
        let time = max(UInt64(now.timeIntervalSince1970 * 1000), last + 1)
        return ActivityID(stored: UTF8Text(String(format: "%012llx-%016llx", time, UInt64.random(in: .min ... .max))))
    }

    var isServerMade: Bool { rawValue.string.wholeMatch(of: #/[0-9a-f]{12}-[0-9a-f]{16}/#) != nil }
}

extension ActivityOwner {
    /// `installation:` with the hash in hex, `subject:` with the `sub`, or `app`.
    var stored: UTF8Text {
        switch self {
        case .installation(let hash): "installation:\(hash)"
        case .subject(let subject): "subject:\(subject)"
        case .app: "app"
        }
    }

    init(stored text: UTF8Text) throws {
        if text == "app" {
            self = .app
        } else if text.hasPrefix("subject:") {
            self = .subject(text.dropping(prefix: "subject:"))
        } else if text.hasPrefix("installation:"),
            let bytes = Hexadecimal.decode(text.dropping(prefix: "installation:").string)
        {
            self = .installation(InstallationHash(bytes: bytes))
        } else {
            throw UnreadableRow(detail: "the owner of a name is not valid")
        }
    }
}
