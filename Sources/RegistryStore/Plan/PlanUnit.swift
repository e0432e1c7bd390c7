import PostgresDriver
import RegistryCore
import RegistryRules

/// The alias's running activities come first, then the installations without one.
struct PlanUnit {
    let request: PlanRequest
    let scope: Scope
    let who: UTF8Text

    /// Maximum activities of the alias examined per page, because most may have expired.
    static let mostBearers = 10_000
    /// Maximum newest activities examined per installation, including ended ones. A phone runs a handful.
    static let mostActivities = 1000

    private var alias: Alias { request.alias }
    private var values: QueryValues { ["scope": scope.id, "kind": alias.kind, "value": alias.value] }

    /// Decides without locks.
    func findPage(after position: PlanPosition, _ session: borrowing PostgresSession) throws -> FoundPlan {
        let activities = position.isAmongActivities ? readRunning(after: position.activity) : []
        let results = try session.pipeline(
            [Clock.read(in: scope), Query.readChannel(values), findInstallations(after: position.installation)]
                + activities
        )
        var page = FoundPlan(
            lastActivity: position.activity,
            channels: try results[1].decode(BroadcastChannel.self),
            installations: try results[2].decode { try $0["installation_hash"] }
        )
        if position.isAmongActivities {
            let now = try Clock(results[0]).now
            let entries = try results[3].decode { try decide($0, page.hasChannel, at: now) }
            let last = try results[4].decode { try $0["activity_key"] as Int64 }.first
            page.add(entries, limit: request.limit, lookedThrough: last)
        }
        page.end(limit: request.limit)
        page.phones = try decide(page, session)
        return page
    }

    func readRunning(after key: Int64, most: Int = mostBearers) -> [SQL] {
        [
            Query("plan.read-running")(values + ["after": key, "most": most, "limit": request.limit + 1]),
            Query.findKey(values + ["after": key, "skipped": most - 1]),
        ]
    }

    func findInstallations(after hash: [UInt8]) -> SQL {
        let names = [alias] + request.to
        return Query("plan.find-installations")([
            "kinds": names.map(\.kind),
            "values": names.map(\.value),
            "scope": scope.id,
            "after": hash,
            "limit": request.limit + 1,
        ])
    }

    private func decide(
        _ row: NamedRow,
        _ hasChannel: Bool,
        at now: Timestamp
    ) throws -> (key: Int64, entry: PlanEntry) {
        let activity = try PlanFacts.RunningActivity(row: row)
        let decision = activity.decide(deviceToken: try row["device_token"], hasChannel: hasChannel, at: now)
        return (try row["activity_key"], PlanEntry(installation: try row["installation_hash"], step: step(decision)))
    }

    // MARK: Installations

    struct Phone: Sendable {
        let facts: PlanFacts
        let subject: UTF8Text?
        let decision: PlanDecision
    }

    private func decide(_ page: FoundPlan, _ session: borrowing PostgresSession) throws -> [Phone] {
        guard !page.installations.isEmpty else { return [] }
        let facts = try readFacts(about: page.installations, after: page.lastActivity, session)
        let hashes = facts.map(\.facts.installation)
        guard !hashes.isEmpty else { return [] }
        let results = try session.pipeline([
            readTokens(of: hashes), Query("plan.read-leases")(leases(on: hashes)), Clock.read(in: scope),
        ])
        let tokens = try Dictionary(results[0].decode(InstallationTokens.self).map { ($0.installation, $0) }) { $1 }
        let leases = try Self.byInstallation(results[1])
        let now = try Clock(results[2]).now
        return facts.map { found in
            var phone = found.facts
            phone.startToken = tokens[phone.installation]?.start
            phone.deviceToken = tokens[phone.installation]?.device
            let decision = decide(phone, leases[phone.installation], page.hasChannel, at: now)
            return Phone(facts: phone, subject: found.subject, decision: decision)
        }
    }

    private func readFacts(
        about hashes: [InstallationHash],
        after key: Int64,
        _ session: borrowing PostgresSession
    ) throws -> [(facts: PlanFacts, subject: UTF8Text?)] {
        let query = Query.readActivities(of: hashes.map { ($0, alias) }, after: key, in: scope)
        let rows = try session.execute(query).decode { row in
            (position: try row["position"] as Int, facts: try BearingFacts(row: row))
        }
        return rows.sorted { $0.position < $1.position }.map { position, found in
            var phone = PlanFacts(installation: hashes[position - 1])
            phone.running = found.running
            phone.registeredAt = found.registeredAt
            phone.wasDismissed = found.wasDismissed
            return (phone, found.subject)
        }
    }

    private func readTokens(of hashes: [InstallationHash]) -> SQL {
        Query("plan.read-tokens")(["hashes": hashes, "scope": scope.id, "attributes_type": request.attributesType])
    }

    private func leases(on hashes: [InstallationHash]) -> QueryValues { ["hashes": hashes] + values }

    private static func byInstallation(_ leases: PostgresResult) throws -> [InstallationHash: Lease] {
        try Dictionary(leases.decode(Lease.self).map { ($0.installation, $0) }) { $1 }
    }

    private func decide(_ phone: PlanFacts, _ lease: Lease?, _ hasChannel: Bool, at now: Timestamp) -> PlanDecision {
        request.decide(phone, lease, hasChannel: hasChannel, newID: .random(), at: now)
    }

    // MARK: Leases

    /// Locks the leases of phones to start on, decides again, and writes the taken leases. If another planner inserts a
    /// lease meanwhile, the transaction restarts and finds it.
    func takeLeases(
        _ phones: [Phone],
        hasChannel: Bool,
        in transaction: borrowing PostgresTransaction
    ) throws -> [InstallationHash: PlanDecision] {
        let lock = Query("plan.lock-leases")(leases(on: phones.map(\.facts.installation)))
        let locked = try transaction.pipeline([lock, Clock.read(in: scope)])
        let known = try Self.byInstallation(locked[0])
        var changes = LeaseChanges(now: try Clock(locked[1]).now, scope: scope, who: who)
        var decisions: [InstallationHash: PlanDecision] = [:]
        for phone in phones {
            let hash = phone.facts.installation
            let decision = decide(phone.facts, known[hash], hasChannel, at: changes.now)
            decisions[hash] = decision
            guard case .start(_, let lease) = decision else { continue }
            // A repeated lease is written again (R1).
            let isRepeated = lease.id == known[hash]?.id
            changes.write(lease, isRepeated ? nil : .leaseTaken, subject: phone.subject)
        }
        _ = try transaction.pipeline(changes.statements, finishing: true)
        return decisions
    }
}

extension LeaseID {
    fileprivate static func random() -> LeaseID {
        let (high, low) = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
        return LeaseID(stored: [high, low].flatMap { withUnsafeBytes(of: $0, Array.init) })
    }
}

extension Query {
    private static let readFacts: Query = "plan.read-activities"

    /// - Parameter key: omits installations with an activity on a page up to this key.
    static func readActivities(
        of bearers: [(installation: InstallationHash, alias: Alias)],
        after key: Int64 = 0,
        in scope: Scope
    ) -> SQL {
        readFacts([
            "hashes": bearers.map(\.installation),
            "kinds": bearers.map(\.alias.kind),
            "values": bearers.map(\.alias.value),
            "scope": scope.id,
            "retention": scope.app.settings.tombstoneRetention,
            "most": PlanUnit.mostActivities,
            "after": key,
        ])
    }
}
