import PostgresDriver

/// The sizes of distributed tables. The coordinator has no rows of them, and asks the workers for the sizes of their
/// shards.
enum DistributedSizes {
    /// The approximate number of rows of a table, partitions included, as in ``TableSample/rowSum``.
    ///
    /// A worker that does not answer counts as empty: a read of its rows reports the failure.
    ///
    /// - Parameter scope: counts only the shards with its rows.
    static func rows(of table: String, holding scope: Int64) -> SQL {
        """
        SELECT coalesce(sum(answer.result::float8) FILTER (WHERE answer.success), 0)
        FROM run_command_on_workers((SELECT format(\(rowQuestion), current_schema(), \(table), \(scope)::bigint))) AS answer
        """
    }

    /// The pages of 8 KiB of the shard of a table that has a scope's rows, and whether all workers answered.
    static func pages(of table: String, holding scope: Int64) -> SQL {
        """
        SELECT coalesce(sum(answer.result::int8) FILTER (WHERE answer.success), 0)::int8, bool_and(answer.success)
        FROM run_command_on_workers((SELECT format(\(pageQuestion), current_schema(), \(table), \(scope)::bigint))) AS answer
        """
    }

    private static let pageQuestion = question(
        "coalesce(sum(pg_relation_size(c.oid)), 0)::int8 / current_setting('block_size')::int8"
    )

    private static let rowQuestion = question(TableSample.rowSum)

    /// A question about the shards `c`, as a format for the schema, the table and the scope.
    private static func question(_ sum: String) -> String {
        """
        SELECT \(sum)
        FROM (SELECT format('%%I.%%I', %1$L, %2$L)::regclass AS place) AS q
        JOIN pg_dist_shard s ON s.logicalrelid = q.place
            OR s.logicalrelid IN (SELECT p.relid FROM pg_partition_tree(q.place) p)
        JOIN pg_class c ON c.oid = to_regclass(shard_name(s.logicalrelid, s.shardid))
        WHERE c.relkind = 'r' AND coalesce(
            worker_hash(%3$L::bigint) BETWEEN s.shardminvalue::int AND s.shardmaxvalue::int, true
        )
        """
    }
}
