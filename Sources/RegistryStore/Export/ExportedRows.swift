import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

struct ExportedActivity: DecodableRow {
    private let id: ActivityID
    private let state: ActivityState
    private let endReason: EndReason?
    private let endedAt: Date?
    private let lastObservedAt: Date?
    /// Only while it is deliverable.
    private let token: PushToken?
    private let tokenObservedAt: Date?
    private let startedAt: Date
    /// The `liveactivityId` if the activity was registered by name.
    private let name: UTF8Text?
    /// The name's own row contains the end and is exported separately.
    private let isEndNoted: Bool
    /// The facts without a time, and the scheduled start.
    private var facts = ActivityRegistration(token: nil)
    private let aliases: Stamped<AliasSet>?
    private let metadata: Stamped<Metadata>?

    /// An error ends the export, because a file that lacks a value would look complete.
    init(row: NamedRow) throws {
        id = try row["activity_id"]
        state = try row["state"]
        endReason = try row["end_reason"]
        let reason: TokenAvailability? = try row["reason"]
        endedAt = reason == .loggedOut ? try row["removed_at"] : try row["ended_at"]
        token = reason == nil ? try row["token"] : nil
        tokenObservedAt = try row["token_observed_at"]
        lastObservedAt = try row["last_observed_at"]
        startedAt = try row["started_at"]
        name = try row["name"]
        isEndNoted = try row["is_end_noted"]
        facts.installation = try row["installation_hash"]
        facts.subject = try row["subject"]
        facts.startsAt = try row["starts_at"]
        facts.facts = try ActivityFacts(row: row)
        aliases = try Stamped(row, "aliases", observedAt: "aliases_observed_at")
        metadata = try Stamped(row, "metadata", observedAt: "metadata_observed_at")
    }

    /// The records from which another registry reproduces the row: a registration for each time at which a current
    /// value was given. Most rows need one.
    var records: [TransferRecord] {
        switch state {
        case .expired, .dismissed: return []
        case .ended:
            guard let endedAt, !isUnnamed else { return [] }
            if let name { return isEndNoted ? [] : [.namedEnd(name, facts.owner, at: endedAt)] }
            return [.end(id, endReason ?? .ended, at: endedAt)]
        case .active: break
        }
        guard let name else { return registrations.map { .activity(id, $0) } }
        // A named registration needs a token and an owner.
        guard token != nil else { return [] }
        return registrations.map { registration in
            var registration = registration
            registration.token = token
            (registration.installation, registration.subject) = (facts.installation, facts.subject)
            return .named(name, registration)
        }
    }

    /// A tombstone that an end by name created while no activity ran. Callers do not know its id, and the row of the
    /// name contains the end.
    private var isUnnamed: Bool { tokenObservedAt == nil && aliases == nil && id.isServerMade }

    private var registrations: [ActivityRegistration] {
        let base = tokenObservedAt ?? lastObservedAt ?? startedAt
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
        // If the start precedes the token's observation, it was scheduled earlier.
        if let startsAt = facts.startsAt { add(at: startsAt > base ? base : startedAt) { $0.startsAt = startsAt } }
        // Aliases derived from the name need no record.
        if let aliases, name == nil || aliases.observedAt != .distantPast {
            add(at: time(of: aliases.observedAt, base)) { $0.aliases = aliases.value }
        }
        if let metadata { add(at: time(of: metadata.observedAt, base)) { $0.metadata = metadata.value } }
        return parts.sorted { $0.key < $1.key }.map(\.value)
    }

    /// A value without a time is exported with the token's time.
    private func time(of time: Timestamp, _ base: Date) -> Date { time == .distantPast ? base : time.date }
}

struct ExportedInstallation: DecodableRow {
    let hash: InstallationHash
    private let removedAt: Date?
    private let subject: (value: UTF8Text?, time: Date?)
    private let aliases: (value: AliasSet?, time: Date?)
    private let metadata: (value: Metadata?, time: Date?)

    init(row: NamedRow) throws {
        hash = try row["installation_hash"]
        removedAt = try row["removed_at"]
        subject = (try row["subject"], try row["subject_observed_at"])
        aliases = (try (row["aliases"] as JSONB?).map(AliasSet.init(stored:)), try row["aliases_observed_at"])
        metadata = (try (row["metadata"] as JSONB?).map(Metadata.init(stored:)), try row["metadata_observed_at"])
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
