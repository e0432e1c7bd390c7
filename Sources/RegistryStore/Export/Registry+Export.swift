import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Limits a page of the largest rows to a few megabytes.
    static let exportPageSize = 1000

    /// Holds no lock between pages, so an export may take long. A row written meanwhile is read either before or after
    /// the write. Each row is read at one moment.
    ///
    /// Omits withheld data: expired and dismissed activities, deleted tokens, and values that are dead, quarantined or
    /// owned by another.
    package func export(in scope: Scope, _ receive: (ExportPage) throws -> Void) async throws {
        try await exportInstallations(in: scope, receive)
        try await exportRows(of: [.update], in: scope, receive)
        try await exportNames(in: scope, receive)
        let kinds = scope.app.settings.allTokenKinds.filter { $0 != .update }
        try await exportRows(of: kinds, in: scope, receive)
    }

    private func exportInstallations(in scope: Scope, _ receive: (ExportPage) throws -> Void) async throws {
        var next: [UInt8]? = []
        while let last = next {
            let page: QueryValues = ["scope": scope.id, "after": last, "limit": Self.exportPageSize]
            let rows = try await read { try $0.run("export.read-installations", page).decode(Installation.self) }
            next = rows.count < Self.exportPageSize ? nil : rows.last?.hash.bytes
            let progress = next?.first.map { Double($0) / 256 } ?? 1
            try receive(ExportPage(part: "installations", records: rows.flatMap(\.records), progress: progress))
        }
    }

    /// Ends under a `liveactivityId`.
    private func exportNames(in scope: Scope, _ receive: (ExportPage) throws -> Void) async throws {
        var next: (alias: UTF8Text, owner: UTF8Text)? = ("", "")
        while let last = next {
            let page: QueryValues = [
                "scope": scope.id, "alias": last.alias, "owner": last.owner, "limit": Self.exportPageSize,
            ]
            let rows = try await read { session in
                try session.run("export.read-names", page).decode { row in
                    let (alias, owner): (UTF8Text, UTF8Text) = (try row["alias"], try row["owner"])
                    return (alias: alias, owner: owner, endedAt: try row["ended_at"] as Date?)
                }
            }
            let records = try rows.compactMap { alias, owner, endedAt in
                try endedAt.map { TransferRecord.namedEnd(alias, try ActivityOwner(stored: owner), at: $0) }
            }
            next = rows.count < Self.exportPageSize ? nil : rows.last.map { ($0.alias, $0.owner) }
            try receive(ExportPage(part: "names", records: records, progress: next == nil ? 1 : nil))
        }
    }

    private func exportRows(
        of kinds: [TokenKind],
        in scope: Scope,
        _ receive: (ExportPage) throws -> Void
    ) async throws {
        for (index, kind) in kinds.enumerated() {
            var next: Int64? = 0
            while let start = next {
                let (range, records) = try await read { try Self.readRange(of: kind, after: start, in: scope, $0) }
                next = range.count < Self.exportPageSize ? nil : range.last
                let progress = (Double(index) + range.share) / Double(kinds.count)
                let part = kind == .update ? "activities" : "tokens"
                try receive(ExportPage(part: part, records: records, progress: progress))
            }
        }
    }

    private static func readRange(
        of kind: TokenKind,
        after start: Int64,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> (NumberRange, [TransferRecord]) {
        let find = NumberRange.find(of: kind, after: start, size: exportPageSize, in: scope)
        let range = try session.execute(find).decode(NumberRange.self)[0]
        let values: QueryValues = ["scope": scope.id, "after": start, "through": range.last ?? start]
        guard kind != .update else {
            let activities = try session.run("export.read-activities", values).decode(ExportedActivity.self)
            return (range, activities.flatMap(\.records))
        }
        let tokens = try session.run("export.read-tokens", values + ["kind": kind.name]).decode { row in
            let slot = TokenSlot(of: kind, try row["attributes_type"])
            let registration = TokenRegistration(token: try row["token"], observedAt: try row["observed_at"])
            return TransferRecord.token(slot, try row["installation_hash"], registration)
        }
        return (range, tokens)
    }
}

package struct ExportPage: Sendable {
    /// The kind of records, for people.
    package let part: String
    package let records: [TransferRecord]
    /// The finished share of the part, from 0 to 1; nil if unknown.
    package let progress: Double?
}

extension NumberRange {
    /// The share of all rows up to the range's last.
    fileprivate var share: Double {
        guard let last, let firstOfAll, let lastOfAll else { return 1 }
        return Double(last - firstOfAll + 1) / Double(lastOfAll - firstOfAll + 1)
    }
}

struct ExportedActivity: DecodableRow {
    private let id: ActivityID
    private let state: ActivityState
    private let endReason: EndReason?
    private let endedAt: Date?
    private let lastObservedAt: Date?
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

extension Installation {
    /// Its log-out, and a profile for each time at which a current value was given.
    fileprivate var records: [TransferRecord] {
        // A user known only from tokens has no time. Any user who registers the installation replaces it.
        let earliest = times.loggedOutAt.map { $0 + .microseconds(1) } ?? Plausibility.earliest
        let namedAt = subject == nil ? nil : subjectObservedAt ?? earliest
        let given = Set([subjectObservedAt, namedAt, aliases?.observedAt, metadata?.observedAt].compactMap(\.self))
            .sorted()
        let profiles = given.map { time in
            var profile = InstallationProfile(observedAt: time.date)
            if let aliases, aliases.observedAt == time { profile.aliases = aliases.value }
            if let metadata, metadata.observedAt == time { profile.metadata = metadata.value }
            return TransferRecord.installation(hash, profile, subject: namedAt == time ? subject : nil)
        }
        return times.loggedOutAt.map { [.logOut(hash, at: $0.date)] + profiles } ?? profiles
    }
}
