import PostgresDriver

/// The sizes of distributed tables. The coordinator has no rows of them, and asks the workers for the sizes of their
/// shards.
enum DistributedSizes {
    /// The approximate number of rows of each table, partitions included, as in ``StatisticsStatements/sizes(of:)``.
    ///
    /// A worker that does not answer counts as empty: a read of its rows reports the failure.
    ///
    /// - Parameter app: counts only the shards with its rows; nil for all.
    static func rows(of tables: [String], holding app: Int64?) -> SQL {
        """
        SELECT q.name, coalesce(sum((answer.result::jsonb ->> q.name)::float8) FILTER (WHERE answer.success), 0)
        FROM unnest(\(tables)) WITH ORDINALITY AS q (name, position)
        CROSS JOIN run_command_on_workers((
            SELECT format(\(question), current_schema(), \(tables)::text, \(app)::bigint)
        )) AS answer
        GROUP BY q.name, q.position ORDER BY q.position
        """
    }

    /// The pages of 8 KiB of the shard of a table that has an app's rows, and whether all workers answered.
    static func pages(of table: String, holding app: Int64) -> SQL {
        """
        SELECT coalesce(sum(answer.result::int8) FILTER (WHERE answer.success), 0)::int8, bool_and(answer.success)
        FROM run_command_on_workers((SELECT format(\(pageQuestion), current_schema(), \(table), \(app)::bigint))) AS answer
        """
    }

    private static let shards = """
        JOIN pg_dist_shard s ON s.logicalrelid = q.place
            OR s.logicalrelid IN (SELECT p.relid FROM pg_partition_tree(q.place) p)
        JOIN pg_class c ON c.oid = to_regclass(shard_name(s.logicalrelid, s.shardid))
        WHERE c.relkind = 'r' AND coalesce(
            worker_hash(%3$L::bigint) BETWEEN s.shardminvalue::int AND s.shardmaxvalue::int, true
        )
        """

    private static let pageQuestion = """
        SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::int8 / current_setting('block_size')::int8
        FROM (SELECT format('%%I.%%I', %1$L, %2$L)::regclass AS place) AS q \(shards)
        """

    private static let question = """
        SELECT coalesce(jsonb_object_agg(t.name, t.rows), '{}') FROM (
            SELECT q.name, sum(pg_relation_size(c.oid)::float8
                * CASE WHEN c.reltuples >= 0 AND c.relpages > 0
                    THEN greatest(c.reltuples, c.relpages)::float8 / c.relpages / current_setting('block_size')::float8
                    ELSE 1 / 300.0 END) AS rows
            FROM (
                SELECT n.name, format('%%I.%%I', %1$L, n.name)::regclass AS place FROM unnest(%2$L::text[]) AS n (name)
            ) AS q \(shards)
            GROUP BY q.name
        ) AS t
        """
}
