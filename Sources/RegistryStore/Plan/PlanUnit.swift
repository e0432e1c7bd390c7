import PostgresDriver
import RegistryCore
import RegistryRules

/// The pages contain the alias's running activities first, then the installations without a running activity.
struct PlanUnit {
    let request: PlanRequest
    let scope: Scope
    let who: UTF8Text

    /// Maximum activities of the alias examined per page, because most may have expired.
    static let mostBearers = 10_000
    /// Maximum activities examined per installation, newest first, including ended activities. A phone runs a handful.
    static let mostActivities = 1000

    private var alias: Alias { request.alias }
    private var values: QueryValues { alias.values(in: scope) }

    /// Decides without locks.
    func findPage(after position: ListPosition, _ session: borrowing PostgresSession) throws -> FoundPlan {
        let isAmongActivities = position.rest.isEmpty
        let activities = isAmongActivities ? readRunning(after: position.number) : []
        let installations = findInstallations(after: position.rest)
        let results = try session.pipeline(
            [Clock.read(in: scope), BroadcastChannel.find([alias], in: scope), installations] + activities
        )
        var page = FoundPlan(
            lastActivity: position.number,
            channels: try results[1].decode(BroadcastChannel.self),
            installations: try results[2].decode { try $0["installation_hash"] }
        )
        if isAmongActivities {
            let now = try Clock(results[0]).now
            let activities = try results[3].decode { try decide($0, page.hasChannel, at: now) }
            let last = try results[4].decode { try $0["activity_key"] as Int64 }.first
            page.add(activities, limit: request.limit, lookedThrough: last)
        }
        page.end(limit: request.limit)
        if request.includesMetadata || page.hasChannel {
            let hashes = page.installations + page.activities.compactMap(\.installation)
            page.metadata = try FoundMetadata(of: page.activities.map(\.running.key), hashes, in: scope, session)
        }
        page.phones = try decide(page, at: try Clock(results[0]).now, session)
        return page
    }

    private func readRunning(after key: Int64) -> [SQL] {
        [
            Query("plan.read-running")(values + ["after": key, "most": Self.mostBearers, "limit": request.limit + 1]),
            Query("resolve.find-key")(values + ["after": key, "skipped": Self.mostBearers - 1]),
        ]
    }

    private func findInstallations(after hash: [UInt8]) -> SQL {
        let names = [alias] + request.to
        return Query("plan.find-installations")([
            "kinds": names.map(\.kind),
            "values": names.map(\.value),
            "scope": scope.id,
            "after": hash,
            "limit": request.limit + 1,
        ])
    }

    struct Activity: Sendable {
        let installation: InstallationHash?
        let running: PlanFacts.RunningActivity
        let decision: PlanDecision
    }

    private func decide(_ row: NamedRow, _ hasChannel: Bool, at now: Timestamp) throws -> Activity {
        let (running, device) = (try PlanFacts.RunningActivity(row: row), try row["device_token"] as PushToken?)
        let decision = request.decide(running, deviceToken: device, hasChannel: hasChannel, at: now)
        return Activity(installation: try row["installation_hash"], running: running, decision: decision)
    }

    struct Phone: Sendable {
        let facts: PlanFacts
        let subject: UTF8Text?
        let decision: PlanDecision
        /// The position on the page of the activity that may be renewed; nil for an installation.
        let index: Int?
    }

    private func decide(_ page: FoundPlan, at now: Timestamp, _ session: borrowing PostgresSession) throws -> [Phone] {
        // The activities that are due for renewal, if the rules allow a start on their phones.
        let due = page.activities.enumerated().filter { $1.decision.isDue(at: now) }
        let renewals = try readFacts(about: due.compactMap(\.element.installation), after: 0, session).map {
            (facts: $1.about(due[$0 - 1].element.running), subject: $2, index: due[$0 - 1].offset as Int?)
        }
        let others = try readFacts(about: page.installations, after: page.lastActivity, session).map {
            (facts: $1 as PlanFacts?, subject: $2, index: nil as Int?)
        }
        let hashes = Array(Set((renewals + others).compactMap(\.facts?.installation)))
        guard !hashes.isEmpty else { return [] }
        let results = try session.pipeline([
            Query("plan.read-tokens")(["hashes": hashes, "scope": scope.id, "attributes_type": request.attributesType]),
            Query("plan.read-leases")(leases(on: hashes)), Clock.read(in: scope),
        ])
        let found: [Token] = try results[0].decode {
            (try $0["installation_hash"], try $0["kind"], try $0["token"], try $0["confirmed_at"])
        }
        let tokens = Dictionary(grouping: found, by: \.installation)
        let leases = try Self.byInstallation(results[1])
        let now = try Clock(results[2]).now
        return (renewals + others).compactMap { facts, subject, index in
            guard var phone = facts else { return nil }
            for (_, kind, token, confirmedAt) in tokens[phone.installation] ?? [] {
                if kind == TokenKind.start.name { (phone.startToken, phone.startConfirmedAt) = (token, confirmedAt) }
                if kind == TokenKind.device.name { phone.deviceToken = token }
            }
            let decision = decide(phone, leases[phone.installation], page.hasChannel, at: now)
            return Phone(facts: phone, subject: subject, decision: decision, index: index)
        }
    }

    private func readFacts(
        about hashes: [InstallationHash],
        after key: Int64,
        _ session: borrowing PostgresSession
    ) throws -> [(position: Int, facts: PlanFacts, subject: UTF8Text?)] {
        guard !hashes.isEmpty else { return [] }
        let query = scope.readActivities(of: hashes.map { ($0, alias) }, after: key)
        return try session.execute(query).decode { row in
            let (position, subject): (Int, UTF8Text?) = (try row["position"], try row["subject"])
            return (position: position, facts: try PlanFacts(of: hashes[position - 1], row), subject: subject)
        }.sorted { $0.position < $1.position }
    }

    private typealias Token = (installation: InstallationHash, kind: String, token: PushToken, confirmedAt: Timestamp?)

    private func leases(on hashes: [InstallationHash]) -> QueryValues { ["hashes": hashes] + values }

    private static func byInstallation(_ leases: PostgresResult) throws -> [InstallationHash: Lease] {
        try Dictionary(leases.decode(Lease.self).map { ($0.installation, $0) }) { $1 }
    }

    private func decide(_ phone: PlanFacts, _ lease: Lease?, _ hasChannel: Bool, at now: Timestamp) -> PlanDecision {
        let newID = LeaseID(stored: (0..<16).map { _ in UInt8.random(in: 0...255) })
        return request.decide(phone, lease, hasChannel: hasChannel, newID: newID, at: now)
    }

    /// Locks the leases of phones to start on, decides again, and writes the taken leases. If another planner inserts a
    /// lease meanwhile, the transaction restarts and finds it.
    func takeLeases(
        _ phones: [Phone],
        hasChannel: Bool,
        in transaction: borrowing PostgresTransaction
    ) throws -> [InstallationHash: PlanDecision] {
        let lock = Query("plan.lock-leases")(leases(on: phones.map(\.facts.installation).sorted()))
        let locked = try transaction.pipeline([lock, Clock.read(in: scope)])
        let known = try Self.byInstallation(locked[0])
        var changes = LeaseChanges(now: try Clock(locked[1]).now, scope: scope, who: who)
        var decisions: [InstallationHash: PlanDecision] = [:]
        for phone in phones {
            let hash = phone.facts.installation
            let decision = decide(phone.facts, known[hash], hasChannel, at: changes.now)
            decisions[hash] = decision
            guard let lease = decision.lease else { continue }
            // A lease that the plan already has is written again (R1).
            let isRepeated = lease.id == known[hash]?.id
            changes.write(lease, isRepeated ? nil : .leaseTaken, subject: phone.subject)
        }
        _ = try transaction.pipeline(changes.statements, finishing: true)
        return decisions
    }
}

extension Scope {
    /// - Parameter key: omits installations with an activity on a page up to this key.
    func readActivities(of bearers: [(installation: InstallationHash, alias: Alias)], after key: Int64 = 0) -> SQL {
        Query("plan.read-activities")([
            "hashes": bearers.map(\.installation),
            "kinds": bearers.map(\.alias.kind),
            "values": bearers.map(\.alias.value),
            "scope": id,
            "retention": app.settings.tombstoneRetention,
            "most": PlanUnit.mostActivities,
            "after": key,
        ])
    }
}

extension PlanFacts {
    /// A row of `plan.read-activities`.
    init(of installation: InstallationHash, _ row: NamedRow) throws {
        self.init(installation: installation)
        registeredAt = try row["registered_at"]
        newestAt = try row["newest_at"]
        wasDismissed = try row["was_dismissed"]
        running = try (row["activity_key"] as Int64?) == nil ? nil : PlanFacts.RunningActivity(row: row)
    }
}

extension PlanFacts.RunningActivity: DecodableRow {
    package init(row: NamedRow) throws {
        let reason: TokenAvailability? = try row["reason"]
        self.init(
            deliverable: reason == nil ? try ResolvedActivity(row: row) : nil,
            reason: reason,
            createdAt: try row["created_at"],
            key: try row["activity_key"]
        )
    }
}
