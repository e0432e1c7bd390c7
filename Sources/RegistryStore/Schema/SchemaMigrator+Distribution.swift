import PostgresDriver

extension SchemaMigrator {
    /// - Parameter isWanted: if false, distributes new tables only if other tables are already distributed.
    /// - Throws: ``DistributionError``, and ``PostgresError``.
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
            try transaction.simple(DistributionStatements.oneByOne)
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

    /// One connection per node. Otherwise Citus rejects later commands about reference tables.
    static let oneByOne = "SET LOCAL citus.multi_shard_modify_mode TO 'sequential'"

    static func distribute(_ table: String) -> SQL {
        if Distribution.referenceTables.contains(table) { return "SELECT create_reference_table(\(table)::regclass)" }
        guard table != "activities" else {
            return "SELECT create_distributed_table('activities'::regclass, 'scope_id')"
        }
        return """
            SELECT create_distributed_table(\(table)::regclass, 'scope_id', colocate_with => 'activities'::regclass::text)
            """
    }

    static let roleSettings: SQL = """
        SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %I = %L', current_database(), s.name, s.value)
        FROM unnest(\(Distribution.settings.map(\.key)), \(Distribution.settings.map(\.value))) AS s (name, value)
        """
}
