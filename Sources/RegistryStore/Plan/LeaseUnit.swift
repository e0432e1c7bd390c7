import PostgresDriver
import RegistryCore
import RegistryRules

/// Ends leases early. Always writes known leases (R1).
///
/// A registration frees a lease without a write, because the next plan finds the activity.
struct LeaseUnit {
    let scope: Scope
    let who: UTF8Text

    /// - Parameter failures: APNs's status and reason for each lease's start push.
    func fail(_ failures: [LeaseID: UTF8Text], in transaction: borrowing PostgresTransaction) throws {
        try end(Array(failures.keys), .startFailed, in: transaction) { lease, now in
            lease.fail(failures[lease.id] ?? "", at: now)
        }
    }

    func release(_ id: LeaseID, in transaction: borrowing PostgresTransaction) throws {
        try end([id], .leaseReleased, in: transaction) { lease, now in lease.release(at: now) }
    }

    private func end(
        _ ids: [LeaseID],
        _ kind: NewAuditEvent.Kind,
        in transaction: borrowing PostgresTransaction,
        _ change: (inout Lease, Timestamp) -> Bool
    ) throws {
        let locked = try transaction.pipeline([
            Query("plan.lock-leases-by-id")(["scope": scope.id, "ids": ids]),
            Clock.read(in: scope),
        ])
        var changes = LeaseChanges(now: try Clock(locked[1]).now, scope: scope, who: who)
        for (var lease, subject) in try locked[0].decode({ (try Lease(row: $0), try $0["subject"] as UTF8Text?) }) {
            let isChanged = change(&lease, changes.now)
            changes.write(lease, isChanged ? kind : nil, subject: subject)
        }
        _ = try transaction.pipeline(changes.statements, finishing: true)
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
        write("plan.insert-leases", leases.filter { $0.handle == nil })
            + write("plan.update-leases", leases.filter { $0.handle != nil })
            + events.insertion(in: scope)
    }

    private func write(_ query: Query, _ leases: [Lease]) -> [SQL] {
        guard !leases.isEmpty else { return [] }
        return [query(["scope": scope.id, "now": now, "rows": leases.map(LeaseWrite.init)])]
    }
}

private struct LeaseWrite: PostgresComposite {
    let lease: Lease

    func encode(into columns: inout CompositeWriter) {
        columns.append(lease.handle?.position)
        columns.append(lease.installation)
        columns.append(lease.alias.kind)
        columns.append(lease.alias.value)
        columns.append(lease.attributesType)
        columns.append(lease.id)
        columns.append(lease.planID)
        columns.append(lease.leasedAt)
        columns.append(lease.leasedUntil)
        columns.append(lease.attempts)
        columns.append(lease.failure?.at)
        columns.append(lease.failure?.reason)
        columns.append(lease.failure?.retryAt)
        columns.append(lease.releasedAt)
        columns.append(lease.replaces)
    }
}

extension Lease: DecodableRow {
    package init(row: NamedRow) throws {
        let handle = RowHandle(position: try row["row_position"])
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
        self.handle = handle
        if let failedAt: Timestamp = try row["failed_at"] {
            failure = Failure(at: failedAt, reason: try row["failure"], retryAt: try row["retry_at"])
        }
        releasedAt = try row["released_at"]
        replaces = try row["replaces"]
    }
}
