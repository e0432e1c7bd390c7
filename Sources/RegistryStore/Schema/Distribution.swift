import PostgresDriver

/// The distribution of the tables by Citus. All rows of a scope are on one node, its worker.
///
/// All statements go through the coordinator, which forwards a statement about one scope to that scope's worker.
enum Distribution {
    /// Small tables with all rows on every node. All others are distributed by `scope_id`.
    static let referenceTables = ["api_keys", "apps", "deleted_apps", "scopes"]

    /// All tables of the migrations. Excludes the list of migrations, which only the coordinator reads. Partitions
    /// follow their table.
    static let tables = Migration.all.flatMap { migration in
        migration.sql.matches(of: #/CREATE TABLE (\w+) \(/#).map { String($0.1) }
    }

    /// The service's session settings. They are set for the role, because the coordinator does not pass them to its
    /// sessions on workers, where sums of local times and plans depend on them.
    static let settings = PostgresPool.settings

    static let isInstalled: SQL = "SELECT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus')"

    /// Whether the registry's tables are distributed; nil without the extension.
    ///
    /// - Throws: ``DistributionError/notTheCoordinator``.
    static func isUsed(_ session: borrowing PostgresSession) throws -> Bool? {
        guard try session.execute(isInstalled)[0].decode(Bool.self) else { return nil }
        let (isCoordinator, isDistributed) = try session.execute(
            """
            SELECT (SELECT g.groupid = 0 FROM pg_dist_local_group g),
                EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = to_regclass('activities'))
            """
        )[0].decode(Bool.self, Bool.self)
        guard isCoordinator else { throw DistributionError.notTheCoordinator }
        return isDistributed
    }

    /// Prepares a new connection for Citus if the tables are distributed.
    ///
    /// - Parameter choosesPlans: whether to avoid generic plans, because Citus cannot see a statement's scope in them.
    /// - Throws: ``DistributionError/notTheCoordinator``.
    static func prepare(_ session: borrowing PostgresSession, choosesPlans: Bool) throws {
        guard let isDistributed = try isUsed(session) else { return }
        if isDistributed { session.noteDistribution() }
        if choosesPlans { _ = try session.execute("SELECT set_config('plan_cache_mode', 'auto', false)") }
    }
}

package enum DistributionError: Error, Sendable, Hashable, CustomStringConvertible {
    case notInstalled
    /// No known node may have shards.
    case noWorker
    case notTheCoordinator
    /// The role lacks a privilege; contains Postgres's reason.
    case notPermitted(String)

    package var detail: String {
        switch self {
        case .notInstalled: "The database does not have the extension citus, so nothing can be distributed."
        case .noWorker:
            "The coordinator has no worker for shards, so the tables cannot be distributed."
        case .notTheCoordinator:
            "This Postgres is a Citus worker, but the registry needs the coordinator."
        case .notPermitted(let reason): "The role may not distribute the tables: \(reason)."
        }
    }

    package var remedy: String {
        switch self {
        case .notInstalled:
            """
            As a superuser, on every node: add citus to shared_preload_libraries, restart Postgres, and run \
            CREATE EXTENSION citus in the database.
            """
        case .noWorker:
            """
            As a superuser, on this node: SELECT citus_set_coordinator_host('this host'), and for each worker \
            SELECT citus_add_node('its host', 5432).
            """
        case .notTheCoordinator: "Set the coordinator as the host in the connection string."
        case .notPermitted: "Run pushreg migrate --distribute as the role that owns the tables and that serve uses."
        }
    }

    package var description: String { "\(detail) \(remedy)" }
}
