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
            let lease = leases[try row["position"] - 1]
            let facts = try PlanFacts(of: lease.installation, row)
            let state = lease.state(registeredAt: facts.registeredAt, newestAt: facts.newestAt, at: now)
            return ExplainedLease(lease: lease, state: state)
        }.sorted { ($1.lease.leasedAt, $0.lease.installation) < ($0.lease.leasedAt, $1.lease.installation) }
    }
}
