import Foundation
import PostgresDriver
import RegistryCore

/// An activity's row, as an export reads it.
struct ExportedActivity {
    private let id: ActivityID
    private let answer: ActivityAnswer
    /// Only while it is handed out.
    private let token: PushToken?
    private let tokenObservedAt: Date?
    private let startedAt: Date
    /// The `liveactivityId` under which its owner has it, if it was made for one.
    private let name: UTF8Text?
    /// The end is in the name's own row, which has a part of its own.
    private let isEndNoted: Bool
    private let facts: [(time: Date?, give: (inout ActivityRegistration) -> Void)]

    /// Reads the columns of ``ExportStatements/rows(of:after:through:)`` for activities.
    init(_ row: PostgresRow) throws {
        answer = try ActivityAnswer(id: row.column(0, as: ActivityID.self), row, from: 1)
        id = answer.activityID
        token = try row.column(8, as: [UInt8]?.self).map(PushToken.init(bytes:))
        tokenObservedAt = try row.column(9, as: Date?.self)
        startedAt = try row.column(10, as: Date.self)
        name = try row.column(11, as: UTF8Text?.self)
        let installation = try row.column(12, as: [UInt8]?.self).map(InstallationHash.init(bytes:))
        let subject = try row.column(14, as: UTF8Text?.self)
        let type = try row.column(16, as: UTF8Text?.self).map(AttributesType.init(stored:))
        let pushes = try row.column(18, as: Bool?.self)
        let aliases = try row.column(20, as: JSONB?.self).map(AliasSet.init(stored:))
        let metadata = try row.column(22, as: JSONB?.self).map(Metadata.init(stored:))
        isEndNoted = try row.column(24, as: Bool.self)
        let startsAt = try row.column(25, as: Date?.self)
        facts = [
            (try row.column(13, as: Date?.self), { $0.installation = installation }),
            (try row.column(15, as: Date?.self), { $0.subject = subject }),
            (try row.column(17, as: Date?.self), { $0.attributesType = type }),
            (try row.column(19, as: Date?.self), { $0.frequentPushesEnabled = pushes }),
            (try row.column(21, as: Date?.self), { $0.aliases = aliases }),
            (try row.column(23, as: Date?.self), { $0.metadata = metadata }),
            (try row.column(26, as: Date?.self), { $0.startsAt = startsAt }),
        ]
    }

    /// The records from which another registry gets the row: a registration for each time at which something that holds
    /// was given, mostly one.
    var records: [TransferRecord] {
        switch answer.state {
        case .expired, .dismissed: return []
        case .ended:
            guard let endedAt = answer.endedAt, !isUnnamed else { return [] }
            if let name { return isEndNoted ? [] : [.namedEnd(name, owner, at: endedAt)] }
            return [.end(id, answer.reason.flatMap(EndReason.init) ?? .ended, at: endedAt)]
        case .active: break
        }
        guard let name else { return registrations.map { .activity(id, $0) } }
        // Under a name nothing can be said without a token, and an owner.
        guard token != nil else { return [] }
        return registrations.map { registration in
            var registration = registration
            registration.token = token
            for fact in facts.prefix(2) { fact.give(&registration) }
            return .named(name, registration)
        }
    }

    /// A tombstone that an end under a name left where nothing ran: nobody was ever told its id, and the name has it.
    private var isUnnamed: Bool {
        tokenObservedAt == nil && facts[4].time == nil && AliasIdentity.isServerMade(id)
    }

    private var owner: ActivityOwner {
        var registration = ActivityRegistration(token: nil)
        for fact in facts.prefix(2) { fact.give(&registration) }
        return registration.owner
    }

    private var registrations: [ActivityRegistration] {
        let given = facts.filter { $0.time != nil && !isImplied($0.time) }
        let base = tokenObservedAt ?? answer.observedAt ?? startedAt
        let times = Set([base] + given.map { time(of: $0.time, base) })
        return times.sorted().map { time in
            var registration = ActivityRegistration(token: time == base ? token : nil)
            registration.observedAt = time
            registration.startedAt = startedAt
            for fact in given where self.time(of: fact.time, base) == time { fact.give(&registration) }
            return registration
        }
    }

    /// Aliases that nobody gave but the name itself come with it.
    private func isImplied(_ time: Date?) -> Bool { name != nil && time == .distantPast }

    /// The time to give a fact at: one that was given before all times is given with the token.
    private func time(of time: Date?, _ base: Date) -> Date { time == .distantPast ? base : time ?? base }
}

/// An installation's row, as an export reads it.
struct ExportedInstallation {
    let hash: InstallationHash
    private let removedAt: Date?
    private let subject: (value: UTF8Text?, time: Date?)
    private let aliases: (value: AliasSet?, time: Date?)
    private let metadata: (value: Metadata?, time: Date?)

    /// Reads the columns of ``ExportStatements/installations(after:)``.
    init(_ row: PostgresRow) throws {
        hash = InstallationHash(bytes: try row.column(0, as: [UInt8].self))
        removedAt = try row.column(1, as: Date?.self)
        subject = (try row.column(2, as: UTF8Text?.self), try row.column(3, as: Date?.self))
        aliases = (
            try row.column(4, as: JSONB?.self).map(AliasSet.init(stored:)), try row.column(5, as: Date?.self)
        )
        metadata = (
            try row.column(6, as: JSONB?.self).map(Metadata.init(stored:)), try row.column(7, as: Date?.self)
        )
    }

    /// Its log-out, and a profile for each time at which something was given that holds.
    var records: [TransferRecord] {
        let times = Set([subject.time, aliases.time, metadata.time].compactMap(\.self)).sorted()
        let profiles = times.map { time in
            var profile = InstallationProfile(observedAt: time)
            if aliases.time == time { profile.aliases = aliases.value }
            if metadata.time == time { profile.metadata = metadata.value }
            return TransferRecord.installation(hash, profile, subject: subject.time == time ? subject.value : nil)
        }
        return removedAt.map { [.logOut(hash, at: $0)] + profiles } ?? profiles
    }
}

extension TransferRecord {
    /// Reads the columns of ``ExportStatements/rows(of:after:through:)`` for tokens of a kind.
    init(token row: PostgresRow, of kind: TokenKind) throws {
        let (hash, type, token, observedAt) = try row.decode([UInt8].self, UTF8Text.self, [UInt8].self, Date.self)
        self = .token(
            kind == .start ? .start(AttributesType(stored: type)) : .only(kind),
            InstallationHash(bytes: hash),
            TokenRegistration(token: PushToken(bytes: token), observedAt: observedAt)
        )
    }
}

// A value that cannot be read ends the export: a file that silently lacks it would be taken for whole.

extension AliasSet {
    fileprivate init(stored: JSONB) throws {
        guard let value = JSONValue(stored: stored.bytes), let set = try? AliasSet(stored: value) else {
            throw UnreadableRow(detail: "aliases are none")
        }
        self = set
    }
}

extension Metadata {
    fileprivate init(stored: JSONB) throws {
        guard let value = JSONValue(stored: stored.bytes) else { throw UnreadableRow(detail: "metadata is no JSON") }
        self.init(stored: value)
    }
}
