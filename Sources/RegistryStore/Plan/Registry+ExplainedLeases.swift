import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    private static let explainedLeases = 50

    /// Most recent first.
    package func leases(of installation: InstallationHash, in scope: Scope) async throws -> [ExplainedLease] {
        let list = Query("plan.list-leases-of-installation")([
            "scope": scope.id, "installation": installation, "limit": Self.explainedLeases,
        ])
        return try await read { session in try ExplainedLease.explain(session.execute(list), in: scope, session) }
    }
}

extension ExplainedLease {
    static func list(of alias: Alias, limit: Int, in scope: Scope) -> SQL {
        Query("plan.list-leases-of-alias")([
            "scope": scope.id, "kind": alias.kind, "value": alias.value, "limit": limit,
        ])
    }

    static func explain(
        _ list: PostgresResult,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> [ExplainedLease] {
        let leases = try list.decode(Lease.self)
        guard !leases.isEmpty else { return [] }
        let results = try session.pipeline([
            Query.readActivities(of: leases.map { ($0.installation, $0.alias) }, in: scope),
            Clock.read(in: scope),
        ])
        let now = try Clock(results[1]).now
        return try results[0].decode { row in
            ExplainedLease(leases[try row["position"] - 1], try BearingFacts(row: row), at: now)
        }.sorted { ($1.leasedAt, $0.installation) < ($0.leasedAt, $1.installation) }
    }

    private init(_ lease: Lease, _ facts: BearingFacts, at now: Timestamp) {
        self.init(
            id: lease.id,
            alias: lease.alias,
            installation: lease.installation,
            attributesType: lease.attributesType.rawValue,
            planID: lease.planID,
            state: lease.state(registeredAt: facts.registeredAt, newestAt: facts.newestAt, at: now),
            leasedAt: lease.leasedAt.date,
            leasedUntil: lease.leasedUntil.date,
            attempt: lease.attempt,
            failure: lease.failure?.reason,
            retryAt: lease.failure?.retryAt.date
        )
    }
}
