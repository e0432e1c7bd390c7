import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    private static let explainedLeases = 50

    /// Most recent first.
    package func leases(of installation: InstallationHash, in scope: Scope) async throws -> [ExplainedLease] {
        let statement = ExplainedLeaseStatements(scope: scope).leases(of: installation, limit: Self.explainedLeases)
        return try await read { try $0.execute(statement).decode(ExplainedLease.columns) }
    }
}

struct ExplainedLeaseStatements {
    let scope: Scope

    func leases(of installation: InstallationHash, limit: Int) -> SQL {
        leases(
            """
            SELECT * FROM start_leases its
            WHERE \(sql: scope.contains("its")) AND its.installation_hash = \(installation.bytes)
            ORDER BY its.leased_at DESC LIMIT \(limit)
            """
        )
    }

    func leases(of alias: Alias, limit: Int) -> SQL {
        leases(
            """
            SELECT * FROM start_leases its
            WHERE \(sql: scope.contains("its")) AND its.kind = \(alias.kind) AND its.value = \(alias.value)
            ORDER BY its.installation_hash LIMIT \(limit)
            """
        )
    }

    private func leases(_ rows: SQL) -> SQL {
        """
        SELECT \(ExplainedLease.columns) FROM (\(sql: rows)) AS l
        \(sql: PlanStatements.bearing("l.installation_hash", "l.kind", "l.value", in: scope))
        ORDER BY l.leased_at DESC, l.installation_hash
        """
    }
}

extension ExplainedLease {
    private static let rules = LeaseRules(row: "l", now: "now()", registeredAt: "bearing.registered_at", plan: "NULL")

    /// The columns of the row `l` of `start_leases`, and of `bearing`, the facts about its alias on its installation.
    static let columns = Columns(
        .one("l.lease_id"),
        Columns(.one("l.kind"), .one("l.value"), as: { Alias(checkedKind: $0, value: $1) }),
        .one("l.installation_hash"),
        .one("l.attributes_type"),
        .one("l.plan_id"),
        .raw(
            """
            CASE WHEN \(rules.isAnswered) THEN 'registered' WHEN l.released_at IS NOT NULL THEN 'released'
                WHEN l.failed_at IS NOT NULL THEN 'failed' WHEN l.leased_until > now() THEN 'live' ELSE 'expired' END
            """
        ),
        .one("l.leased_at"),
        .one("l.leased_until"),
        .one(LeaseRules.attempt(of: "l", before: "l.leased_at")),
        .one("l.failure"),
        .one("l.retry_at"),
        as: ExplainedLease.init
    )
}
