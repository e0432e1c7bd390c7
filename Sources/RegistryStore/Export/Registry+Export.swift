import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Limits a page of the largest rows to a few megabytes.
    static let exportPageSize = 1000

    /// Holds no lock between pages, so an export may take long. A row written meanwhile is read either before or after
    /// the write.
    ///
    /// Omits withheld data: expired and dismissed activities, deleted tokens, and values that are dead, quarantined or
    /// owned by another.
    package func exportPage(from position: ExportPosition, in scope: Scope) async throws -> ExportPage {
        try await read { session in
            switch position.part {
            case .installations: try position.readInstallations(in: scope, session)
            case .names: try position.readNames(in: scope, session)
            case .activities, .tokens: try position.readNumbered(in: scope, session)
            }
        }
    }
}

extension ExportPosition {
    fileprivate func readNumbered(in scope: Scope, _ session: borrowing PostgresSession) throws -> ExportPage {
        let kinds = part.kinds(of: scope.app)
        let index = kinds.firstIndex { UTF8Text($0.name) == after.first } ?? 0
        let (kind, start) = (kinds[index], after.last.flatMap { Int64($0.string) } ?? 0)
        let find = NumberRange.find(of: kind, after: start, size: Registry.exportPageSize, in: scope)
        let range = try session.execute(find).decode(NumberRange.self)[0]
        let end = range.last ?? start
        let values: QueryValues = ["scope": scope.id, "after": start, "through": end]
        let records =
            kind == .update
            ? try session.run("export.read-activities", values).decode(ExportedActivity.self).flatMap(\.records)
            : try session.run("export.read-tokens", values + ["kind": kind.name]).decode { row in
                let slot = TokenSlot(of: kind, try row["attributes_type"])
                let registration = TokenRegistration(token: try row["token"], observedAt: try row["observed_at"])
                return TransferRecord.token(slot, try row["installation_hash"], registration)
            }
        let isLast = range.count < Registry.exportPageSize
        let next = isLast ? kinds.dropFirst(index + 1).first : kind
        let key = next.map { [UTF8Text($0.name), "\(isLast ? 0 : end)"] }
        let share: Double =
            if let end = range.last, let first = range.firstOfAll, let last = range.lastOfAll {
                Double(end - first + 1) / Double(last - first + 1)
            } else {
                1
            }
        return page(records, upTo: key, progress: (Double(index) + share) / Double(kinds.count))
    }

    fileprivate func readInstallations(in scope: Scope, _ session: borrowing PostgresSession) throws -> ExportPage {
        let last = after.first.flatMap { Hexadecimal.decode($0.string) } ?? []
        let values: QueryValues = ["scope": scope.id, "after": last, "limit": Registry.exportPageSize]
        let rows = try session.run("export.read-installations", values).decode(Installation.self)
        let end = rows.count < Registry.exportPageSize ? nil : rows.last?.hash
        let progress = end.flatMap(\.bytes.first).map { Double($0) / 256 }
        return page(rows.flatMap(\.records), upTo: end.map { ["\($0)"] }, progress: progress ?? 1)
    }

    fileprivate func readNames(in scope: Scope, _ session: borrowing PostgresSession) throws -> ExportPage {
        let size = Registry.exportPageSize
        let values: QueryValues = [
            "scope": scope.id, "alias": after.first ?? "", "owner": after.last ?? "", "limit": size,
        ]
        let rows = try session.run("export.read-names", values).decode { row in
            let (alias, owner): (UTF8Text, UTF8Text) = (try row["alias"], try row["owner"])
            return (alias: alias, owner: owner, endedAt: try row["ended_at"] as Date?)
        }
        let records = try rows.compactMap { alias, owner, endedAt in
            try endedAt.map { TransferRecord.namedEnd(alias, try ActivityOwner(stored: owner), at: $0) }
        }
        let end = rows.count < size ? nil : rows.last
        return page(records, upTo: end.map { [$0.alias, $0.owner] }, progress: end == nil ? 1 : nil)
    }

    private func page(_ records: [TransferRecord], upTo key: [UTF8Text]?, progress: Double?) -> ExportPage {
        let next =
            key.map { ExportPosition(part: part, after: $0) } ?? part.next.map { ExportPosition(part: $0, after: []) }
        return ExportPage(records: records, next: next, progress: progress)
    }
}

package enum ExportPart: String, Sendable, Hashable, CaseIterable {
    case installations
    case activities
    /// Ends under a `liveactivityId`.
    case names
    case tokens

    /// In the order of the export; empty if the rows have no numbers.
    func kinds(of app: App) -> [TokenKind] {
        switch self {
        case .activities: [.update]
        case .tokens: app.settings.allTokenKinds.filter { $0 != .update }
        case .installations, .names: []
        }
    }

    var next: ExportPart? { Self.allCases.drop { $0 != self }.dropFirst().first }
}

package struct ExportPosition: Sendable, Hashable {
    package let part: ExportPart
    /// The key of the last row read, or kind and number for numbered rows. Empty at the start.
    let after: [UTF8Text]

    package static let start = ExportPosition(part: .installations, after: [])
}

/// Each row is read at one moment.
package struct ExportPage: Sendable {
    package let records: [TransferRecord]
    package let next: ExportPosition?
    /// The finished share of the part, from 0 to 1; nil if unknown.
    package let progress: Double?
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
        let given = Set([subjectObservedAt, aliases?.observedAt, metadata?.observedAt].compactMap(\.self)).sorted()
        let profiles = given.map { time in
            var profile = InstallationProfile(observedAt: time.date)
            if let aliases, aliases.observedAt == time { profile.aliases = aliases.value }
            if let metadata, metadata.observedAt == time { profile.metadata = metadata.value }
            return TransferRecord.installation(hash, profile, subject: subjectObservedAt == time ? subject : nil)
        }
        return times.loggedOutAt.map { [.logOut(hash, at: $0.date)] + profiles } ?? profiles
    }
}
