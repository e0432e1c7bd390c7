import PostgresDriver

package struct DistributionCondition: Sendable, Hashable {
    /// A node with shards, named as the coordinator connects to it.
    package struct Worker: Sendable, Hashable {
        package let name: String
        package var isReachable = true
        /// Session settings of the service's role that differ from the required ones.
        package var otherSettings: [String: String] = [:]
        package var unsafeSettings: [UnsafeDurability] = []
    }

    package static var referenceTables: String { Distribution.referenceTables.joined(separator: ", ") }
    package var isDistributed = false
    package var missingTables: [String] = []
    package var misplacedTables: [String] = []
    /// Postgres's `plan_cache_mode` in the service's sessions.
    package var planCacheMode = ""
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
        planCacheMode = try session.execute("SELECT current_setting('plan_cache_mode')")[0].decode(String.self)
        let answers = try session.transaction { transaction in
            try transaction.simple(DistributionStatements.shortWait)
            return try transaction.execute(DistributionStatements.workers)
        }
        for row in answers.rows {
            let (name, isReachable, setting, value) = try row.decode(String.self, Bool.self, String?.self, String?.self)
            if workers.last?.name != name { workers.append(Worker(name: name, isReachable: isReachable)) }
            if let setting { workers[workers.count - 1].recordSetting(setting, value ?? "") }
        }
    }
}

extension DistributionCondition.Worker {
    fileprivate mutating func recordSetting(_ setting: String, _ value: String) {
        if let needed = Distribution.settings[setting], needed != value { otherSettings[setting] = value }
        if let safe = UnsafeDurability.safeValues.first(where: { $0.0 == setting }), !safe.1.contains(value) {
            unsafeSettings.append(UnsafeDurability(setting: setting, value: value, worker: name))
        }
    }
}

extension DistributionStatements {
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

    /// The default connection timeout is half a minute.
    static let shortWait = "SET LOCAL citus.node_connection_timeout = '1s'"

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

    private static let names = (UnsafeDurability.safeValues.map(\.0) + Distribution.settings.keys)
        .map { "'\($0)'" }.joined(separator: ", ")
}
