import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

struct ExportedActivity {
    private let answer: ActivityAnswer
    /// Only while it is deliverable.
    private let token: PushToken?
    private let tokenObservedAt: Date?
    private let startedAt: Date
    /// The `liveactivityId` of its owner, if it was made for one.
    private let name: UTF8Text?
    /// The name's own row has the end, in a part of its own.
    private let isEndNoted: Bool
    /// The facts without a time, and the start for which it was scheduled.
    private let facts: ActivityRegistration
    private let aliases: Stamped<AliasSet>?
    private let metadata: Stamped<Metadata>?

    private var id: ActivityID { answer.activityID }

    /// The columns of an explained activity `r`, and of its identity `n`.
    static let columns = Columns(
        ActivityAnswer.columns(of: "r"),
        .one("CASE WHEN r.reason IS NULL THEN r.token END"),
        .one("r.token_observed_at"),
        .one("r.started_at"),
        .one("n.alias"),
        .one("coalesce(n.ended_at >= r.ended_at, false)"),
        Columns(
            .one("r.installation_hash"),
            .one("r.subject"),
            .one("r.starts_at"),
            ActivityFacts.columns(of: "r"),
            as: { (installation: InstallationHash?, subject: UTF8Text?, startsAt: Date?, facts: ActivityFacts) in
                var registration = ActivityRegistration(token: nil)
                (registration.installation, registration.subject) = (installation, subject)
                (registration.startsAt, registration.facts) = (startsAt, facts)
                return registration
            }
        ),
        stamped("aliases", AliasSet.init(stored:)),
        stamped("metadata", Metadata.init(stored:)),
        as: ExportedActivity.init
    )

    /// An error ends the export: a file that silently lacks a value would count as complete.
    private static func stamped<Value>(
        _ name: String,
        _ read: @escaping @Sendable (JSONB) throws -> Value
    ) -> Columns<Stamped<Value>?> {
        Columns(
            .one("r.\(name)"),
            .one("r.\(name)_observed_at"),
            as: { (json: JSONB?, time: Timestamp?) in
                try json.map { Stamped(try read($0), observedAt: time ?? .distantPast) }
            }
        )
    }

    /// The records from which another registry reproduces the row: a registration for each time at which a current value
    /// was given, mostly one.
    var records: [TransferRecord] {
        switch answer.state {
        case .expired, .dismissed: return []
        case .ended:
            guard let endedAt = answer.endedAt, !isUnnamed else { return [] }
            if let name { return isEndNoted ? [] : [.namedEnd(name, facts.owner, at: endedAt)] }
            return [.end(id, answer.reason.flatMap(EndReason.init) ?? .ended, at: endedAt)]
        case .active: break
        }
        guard let name else { return registrations.map { .activity(id, $0) } }
        // A registration under a name needs a token and an owner.
        guard token != nil else { return [] }
        return registrations.map { registration in
            var registration = registration
            registration.token = token
            (registration.installation, registration.subject) = (facts.installation, facts.subject)
            return .named(name, registration)
        }
    }

    /// A tombstone left by an end under a name while nothing ran: no caller knows its id, and the name has the end.
    private var isUnnamed: Bool { tokenObservedAt == nil && aliases == nil && id.isServerMade }

    private var registrations: [ActivityRegistration] {
        let base = tokenObservedAt ?? answer.observedAt ?? startedAt
        var parts: [Date: ActivityRegistration] = [:]
        func add(at time: Date, _ change: (inout ActivityRegistration) -> Void) {
            var part = parts[time] ?? ActivityRegistration(token: nil)
            (part.observedAt, part.startedAt) = (time, startedAt)
            change(&part)
            parts[time] = part
        }
        add(at: base) { part in
            part = facts
            (part.token, part.observedAt, part.startedAt, part.startsAt) = (token, base, startedAt, nil)
        }
        // A start that lies before the token's observation was scheduled earlier.
        if let startsAt = facts.startsAt { add(at: startsAt > base ? base : startedAt) { $0.startsAt = startsAt } }
        // Aliases derived from the name itself come with it.
        if let aliases, name == nil || aliases.observedAt != .distantPast {
            add(at: time(of: aliases.observedAt, base)) { $0.aliases = aliases.value }
        }
        if let metadata { add(at: time(of: metadata.observedAt, base)) { $0.metadata = metadata.value } }
        return parts.sorted { $0.key < $1.key }.map(\.value)
    }

    /// A value given before all times is exported with the token's time.
    private func time(of time: Timestamp, _ base: Date) -> Date { time == .distantPast ? base : time.date }
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
