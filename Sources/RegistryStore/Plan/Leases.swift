import PostgresDriver
import RegistryCore
import RegistryRules

extension Scope {
    /// Ends leases early. Always writes known leases (R1).
    ///
    /// A registration frees a lease without a write, because the next plan finds the activity.
    func end(
        _ ids: [LeaseID],
        _ kind: NewAuditEvent.Kind,
        by who: UTF8Text,
        in transaction: borrowing PostgresTransaction,
        _ change: (inout Lease, Timestamp) -> Bool
    ) throws {
        let lock = Query("plan.lock-leases-by-id")(["scope": id, "ids": ids])
        let locked = try transaction.pipeline([lock, Clock.read(in: self)])
        var changes = LeaseChanges(now: try Clock(locked[1]).now, scope: self, who: who)
        for (var lease, subject) in try locked[0].decode({ (try Lease(row: $0), try $0["subject"] as UTF8Text?) }) {
            let isChanged = change(&lease, changes.now)
            changes.write(lease, isChanged ? kind : nil, subject: subject)
        }
        _ = try transaction.pipeline(changes.statements, finishing: true)
    }

    func explain(_ list: PostgresResult, _ session: borrowing PostgresSession) throws -> [ExplainedLease] {
        let leases = try list.decode(Lease.self)
        guard !leases.isEmpty else { return [] }
        let bearers = leases.map { ($0.installation, $0.alias) }
        let results = try session.pipeline([readActivities(of: bearers), Clock.read(in: self)])
        let now = try Clock(results[1]).now
        return try results[0].decode { row in
            let lease = leases[try row["position"] - 1]
            let facts = try PlanFacts(of: lease.installation, row)
            let state = lease.state(registeredAt: facts.registeredAt, newestAt: facts.newestAt, at: now)
            return ExplainedLease(lease: lease, state: state)
        }.sorted { ($1.lease.leasedAt, $0.lease.installation) < ($0.lease.leasedAt, $1.lease.installation) }
    }
}

struct LeaseChanges {
    let now: Timestamp
    let scope: Scope
    let who: UTF8Text
    private(set) var leases: [Lease] = []
    private(set) var events: [NewAuditEvent] = []

    mutating func write(_ lease: Lease, _ kind: NewAuditEvent.Kind?, subject: UTF8Text?) {
        leases.append(lease)
        if let kind { events.append(NewAuditEvent(kind, of: lease, subject: subject, by: who)) }
    }

    var statements: [SQL] {
        write("plan.insert-leases", leases.filter { $0.position == nil })
            + write("plan.update-leases", leases.filter { $0.position != nil })
            + events.insertion(in: scope)
    }

    private func write(_ query: Query, _ leases: [Lease]) -> [SQL] {
        guard !leases.isEmpty else { return [] }
        return [query(["scope": scope.id, "now": now, "rows": leases])]
    }
}

extension Lease: DecodableRow, PostgresComposite {
    package init(row: NamedRow) throws {
        let position: RowPosition = try row["row_position"]
        self.init(
            installation: try row["installation_hash"],
            alias: Alias(checkedKind: try row["kind"], value: try row["value"]),
            id: try row["lease_id"],
            planID: try row["plan_id"],
            attributesType: try row["attributes_type"],
            leasedAt: try row["leased_at"],
            leasedUntil: try row["leased_until"],
            attempts: try row["attempted_at"]
        )
        self.position = position
        if let failedAt: Timestamp = try row["failed_at"] {
            failure = Failure(at: failedAt, reason: try row["failure"], retryAt: try row["retry_at"])
        }
        releasedAt = try row["released_at"]
        replaces = try row["replaces"]
    }

    package func encode(into columns: inout CompositeWriter) {
        columns.append(position)
        columns.append(installation)
        columns.append(alias.kind)
        columns.append(alias.value)
        columns.append(attributesType)
        columns.append(id)
        columns.append(planID)
        columns.append(leasedAt)
        columns.append(leasedUntil)
        columns.append(attempts)
        columns.append(failure?.at)
        columns.append(failure?.reason)
        columns.append(failure?.retryAt)
        columns.append(releasedAt)
        columns.append(replaces)
    }
}

extension Registry {
    /// The last 50, most recent first.
    package func leases(of installation: InstallationHash, in scope: Scope) async throws -> [ExplainedLease] {
        let list = Query("plan.list-leases-of-installation")([
            "scope": scope.id, "installation": installation, "limit": 50,
        ])
        return try await read { try scope.explain($0.execute(list), $0) }
    }
}

package struct ExplainedLease: Sendable, Hashable, JSONObjectEncodable {
    package let lease: Lease
    package let state: Lease.State

    package var sentence: String {
        let start = "Start \(lease.attempt) within 24 hours"
        let end = RFC3339.format(lease.leasedUntil.date)
        return switch state {
        case .live: "\(start) is in progress until \(end); no other sender starts the activity."
        case .registered: "The activity was registered after start \(lease.attempt)."
        case .failed: "\(start) failed: APNs reported \(lease.failure?.reason.string ?? "an error")."
        case .released: "Its sender gave it back."
        case .expired: "\(start) led to no registration by \(end)."
        }
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("leaseId", lease.id.description)
        json.member("alias", lease.alias)
        json.hex("installation", lease.installation.bytes)
        json.member("attributesType", lease.attributesType.rawValue)
        json.member("planId", ifPresent: lease.planID)
        json.member("state", state.rawValue)
        json.member("detail", sentence)
        json.member("leasedAt", lease.leasedAt.date)
        json.member("leasedUntil", lease.leasedUntil.date)
        json.member("attempt", lease.attempt)
        json.member("failure", ifPresent: lease.failure?.reason)
        json.member("retryAt", ifPresent: lease.failure?.retryAt.date)
    }
}
