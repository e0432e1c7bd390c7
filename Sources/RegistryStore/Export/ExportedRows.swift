import Foundation
import PostgresDriver
import RegistryCore

struct ExportedActivity {
    private let answer: ActivityAnswer
    /// Only while it is handed out.
    private let token: PushToken?
    private let tokenObservedAt: Date?
    private let startedAt: Date
    /// The `liveactivityId` under which its owner has it, if it was made for one.
    private let name: UTF8Text?
    /// The name's own row has the end, in a part of its own.
    private let isEndNoted: Bool
    private let installation: ExportedFact
    private let subject: ExportedFact
    private let aliases: ExportedFact
    private let facts: [ExportedFact]

    private var id: ActivityID { answer.activityID }
    private var allFacts: [ExportedFact] { [installation, subject, aliases] + facts }

    /// The columns of an activity's verdict `r`, and of its identity `n`.
    static let columns = Columns(
        ActivityAnswer.columns(of: "r"),
        .one("CASE WHEN r.verdict IS NULL THEN r.token END"),
        .one("r.token_observed_at"),
        .one("r.started_at"),
        .one("n.alias"),
        .one("coalesce(n.ended_at >= r.ended_at, false)"),
        ExportedFact.column("installation_hash", \.installation, time: "installation_observed_at") { $0 },
        ExportedFact.column("subject", \.subject) { $0 },
        ExportedFact.column("aliases", \.aliases) { (json: JSONB) in try AliasSet(stored: json) },
        .list(
            [
                ExportedFact.column("metadata", \.metadata) { (json: JSONB) in try Metadata(stored: json) },
                ExportedFact.column("starts_at", \.startsAt) { $0 },
            ] + StoredFact.all.map(ExportedFact.column)
        ),
        as: ExportedActivity.init
    )

    /// The records from which another registry reproduces the row: a registration for each time at which a current fact
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
        // A registration under a name needs a token and an owner.
        guard token != nil else { return [] }
        return registrations.map { registration in
            var registration = registration
            registration.token = token
            installation.give(&registration)
            subject.give(&registration)
            return .named(name, registration)
        }
    }

    /// A tombstone left by an end under a name while nothing ran: no caller knows its id, and the name has the end.
    private var isUnnamed: Bool {
        tokenObservedAt == nil && aliases.time == nil && AliasIdentity.isServerMade(id)
    }

    private var owner: ActivityOwner {
        var registration = ActivityRegistration(token: nil)
        installation.give(&registration)
        subject.give(&registration)
        return registration.owner
    }

    private var registrations: [ActivityRegistration] {
        let given = allFacts.filter { $0.time != nil && !isImplied($0.time) }
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

    /// Aliases derived from the name itself come with it.
    private func isImplied(_ time: Date?) -> Bool { name != nil && time == .distantPast }

    /// A fact given before all times is exported with the token's time.
    private func time(of time: Date?, _ base: Date) -> Date { time == .distantPast ? base : time ?? base }
}

struct ExportedFact {
    let time: Date?
    let give: @Sendable (inout ActivityRegistration) -> Void

    /// - Parameters:
    ///   - time: the name of the time's column, unless it is the usual one.
    ///   - read: an error ends the export: a file that silently lacks a value would count as complete.
    static func column<Stored: PostgresDecodable & Sendable, Value: Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<ActivityRegistration, Value?> & Sendable,
        time: String? = nil,
        _ read: @escaping @Sendable (Stored) throws -> Value
    ) -> Columns<ExportedFact> {
        Columns(
            .one("r.\(name)"),
            .one("r.\(time ?? name + "_observed_at")"),
            as: { (stored: Stored?, time: Date?) in
                let value = try stored.map(read)
                return ExportedFact(time: time) { $0[keyPath: path] = value }
            }
        )
    }

    /// For a fact that never changes.
    static func column(_ fact: StoredFact) -> Columns<ExportedFact> {
        Columns(sql: "r.\(fact.name), r.\(fact.time)") { row in
            var said = ActivityFacts()
            try fact.read(&row, &said)
            return ExportedFact(time: try row.next()) { [said] in fact.copy(said, &$0.facts) }
        }
    }
}

struct ExportedInstallation {
    let hash: InstallationHash
    private let removedAt: Date?
    private let subject: (value: UTF8Text?, time: Date?)
    private let aliases: (value: AliasSet?, time: Date?)
    private let metadata: (value: Metadata?, time: Date?)

    static let columns = Columns(
        .one("r.installation_hash"),
        .one("r.removed_at"),
        timed("subject") { (subject: UTF8Text?) in subject },
        timed("aliases") { (json: JSONB?) in try json.map(AliasSet.init(stored:)) },
        timed("metadata") { (json: JSONB?) in try json.map(Metadata.init(stored:)) },
        as: ExportedInstallation.init
    )

    private static func timed<Stored: PostgresDecodable & Sendable, Value>(
        _ name: String,
        _ read: @escaping @Sendable (Stored) throws -> Value
    ) -> Columns<(value: Value, time: Date?)> {
        Columns(.one("r.\(name)"), .one("r.\(name)_observed_at"), as: { (value: try read($0), time: $1) })
    }

    /// Its log-out, and a profile for each time at which a current value was given.
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
    static func columns(of kind: TokenKind) -> Columns<TransferRecord> {
        Columns(
            .one("r.installation_hash"),
            .one("r.attributes_type"),
            .one("r.token"),
            .one("r.observed_at"),
            as: { (installation: InstallationHash, type: AttributesType, token: PushToken, observedAt: Date) in
                .token(
                    kind == .start ? .start(type) : .only(kind),
                    installation,
                    TokenRegistration(token: token, observedAt: observedAt)
                )
            }
        )
    }
}

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
