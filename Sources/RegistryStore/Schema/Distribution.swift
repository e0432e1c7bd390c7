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

    static let isInstalled: SQL = "SELECT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus')"

    /// Whether the registry's tables are distributed; nil without the extension.
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
    static func prepare(_ session: borrowing PostgresSession) throws {
        guard let isDistributed = try isUsed(session) else { return }
        if isDistributed { session.noteDistribution() }
        // Citus cannot see a statement's scope in a generic plan.
        _ = try session.execute("SELECT set_config('plan_cache_mode', 'auto', false)")
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
        case .noWorker: "The coordinator has no worker for shards, so the tables cannot be distributed."
        case .notTheCoordinator: "This Postgres is a Citus worker, but the registry needs the coordinator."
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

package struct DistributionCondition: Sendable, Hashable {
    /// A node with shards, named as the coordinator connects to it.
    package struct Worker: Sendable, Hashable {
        package let name: String
        package var isReachable = true
        /// Session settings of the service's role that differ from the required ones.
        package var otherSettings: [String: String] = [:]
        package var unsafeSettings: [UnsafeDurability] = []

        fileprivate mutating func recordSetting(_ setting: String, _ value: String) {
            if let needed = PostgresPool.settings[setting], needed != value { otherSettings[setting] = value }
            if let safe = UnsafeDurability.safeValues.first(where: { $0.0 == setting }), !safe.1.contains(value) {
                unsafeSettings.append(UnsafeDurability(setting: setting, value: value, worker: name))
            }
        }
    }

    package static var referenceTables: String { Distribution.referenceTables.joined(separator: ", ") }
    package var isDistributed = false
    package var missingTables: [String] = []
    package var misplacedTables: [String] = []
    /// All nodes that have or may have shards.
    package var workers: [Worker] = []

    static func read(_ session: borrowing PostgresSession) throws -> DistributionCondition? {
        try session.execute(Distribution.isInstalled)[0].decode(Bool.self) ? DistributionCondition(session) : nil
    }

    private init(_ session: borrowing PostgresSession) throws {
        for row in try session.execute(DistributionStatements.placement).rows {
            let (name, isFound, isRight) = try row.decode(String.self, Bool.self, Bool.self)
            if !isFound { missingTables.append(name) } else if !isRight { misplacedTables.append(name) }
        }
        isDistributed = !missingTables.contains("activities")
        let answers = try session.transaction { transaction in
            // The default connection timeout is half a minute.
            try transaction.simple("SET LOCAL citus.node_connection_timeout = '1s'")
            return try transaction.execute(DistributionStatements.workers)
        }
        for row in answers.rows {
            let (name, isReachable, setting, value) = try row.decode(String.self, Bool.self, String?.self, String?.self)
            if workers.last?.name != name { workers.append(Worker(name: name, isReachable: isReachable)) }
            if let setting { workers[workers.count - 1].recordSetting(setting, value ?? "") }
        }
    }
}

extension SchemaMigrator {
    /// - Parameter isWanted: if false, distributes new tables only if other tables are already distributed.
    static func distribute(_ session: borrowing PostgresSession, isWanted: Bool) throws -> [String] {
        guard let isDistributed = try Distribution.isUsed(session) else {
            if isWanted { throw DistributionError.notInstalled }
            return []
        }
        guard isWanted || isDistributed else { return [] }
        guard try session.execute(DistributionStatements.hasWorker)[0].decode(Bool.self) else {
            throw DistributionError.noWorker
        }
        do {
            return try distribute(session)
        } catch let error as PostgresError where error.sqlState == "42501" {
            throw DistributionError.notPermitted(error.message ?? "it lacks a privilege")
        }
    }

    private static func distribute(_ session: borrowing PostgresSession) throws -> [String] {
        try session.transaction { transaction in
            let missing = try transaction.execute(DistributionStatements.missing).decode(String.self)
            // Also applies the settings of the role on nodes that were added since the last migration.
            for command in try transaction.execute(DistributionStatements.roleSettings).decode(String.self) {
                try transaction.simple(command)
            }
            guard !missing.isEmpty else { return [] }
            // One connection per node. Otherwise Citus rejects later commands about reference tables.
            try transaction.simple("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
            for table in missing { _ = try transaction.execute(DistributionStatements.distribute(table)) }
            return missing
        }
    }
}

enum DistributionStatements {
    static let hasWorker: SQL = """
        SELECT EXISTS (SELECT FROM pg_dist_node n WHERE n.noderole = 'primary' AND n.isactive AND n.shouldhaveshards)
        """

    /// Ordered by references and placement.
    static let missing: SQL = """
        SELECT t.name FROM unnest(\(Distribution.tables)) WITH ORDINALITY AS t (name, position)
        WHERE to_regclass(t.name) IS NOT NULL
            AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = to_regclass(t.name))
        ORDER BY t.name <> ALL(\(Distribution.referenceTables)), t.name <> 'activities', t.position
        """

    static func distribute(_ table: String) -> SQL {
        if Distribution.referenceTables.contains(table) { return "SELECT create_reference_table(\(table)::regclass)" }
        guard table != "activities" else {
            return "SELECT create_distributed_table('activities'::regclass, 'scope_id')"
        }
        return """
            SELECT create_distributed_table(\(table)::regclass, 'scope_id', colocate_with => 'activities'::regclass::text)
            """
    }

    /// The coordinator does not pass its sessions' settings to workers, where sums of local times and plans depend on
    /// them.
    static let roleSettings: SQL = """
        SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %I = %L', current_database(), s.name, s.value)
        FROM unnest(\(PostgresPool.settings.map(\.key)), \(PostgresPool.settings.map(\.value))) AS s (name, value)
        """

    static let placement: SQL = """
        SELECT t.name, p.logicalrelid IS NOT NULL,
            CASE WHEN t.name = ANY(\(Distribution.referenceTables)) THEN p.partmethod = 'n' AND p.repmodel = 't'
                ELSE p.partmethod = 'h' AND column_to_column_name(p.logicalrelid, p.partkey) = 'scope_id'
                    AND p.colocationid = first.colocationid END IS TRUE
        FROM unnest(\(Distribution.tables)) WITH ORDINALITY AS t (name, position)
        LEFT JOIN pg_dist_partition p ON p.logicalrelid = to_regclass(t.name)
        LEFT JOIN pg_dist_partition first ON first.logicalrelid = to_regclass('activities')
        WHERE to_regclass(t.name) IS NOT NULL
        ORDER BY t.position
        """

    /// A row for each setting of each worker, and one for a worker that does not answer.
    static let workers: SQL = """
        SELECT format('%s:%s', answer.nodename, answer.nodeport), answer.success, setting.key, setting.value
        FROM run_command_on_workers(\(question)) AS answer
        LEFT JOIN LATERAL jsonb_each_text(CASE WHEN answer.success THEN answer.result::jsonb END) AS setting ON true
        ORDER BY answer.nodename, answer.nodeport, setting.key
        """

    private static let question = """
        SELECT jsonb_object_agg(s.name, current_setting(s.name)) FROM unnest(ARRAY[\(names)]) AS s (name)
        """

    private static let names = (UnsafeDurability.safeValues.map(\.0) + PostgresPool.settings.keys)
        .map { "'\($0)'" }.joined(separator: ", ")
}
