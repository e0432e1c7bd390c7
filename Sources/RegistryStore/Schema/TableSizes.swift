import Foundation
import PostgresDriver
import RegistryCore

/// The Citus coordinator has no rows of distributed tables, so it asks the workers about the shards of a scope.
enum TableSizes {
    /// Approximate. An unreachable worker counts as empty; the read of its rows reports the failure.
    static func rows(of table: String, holding scope: Int64, _ session: borrowing PostgresSession) throws -> Double {
        guard session.isDistributed else {
            return try session.run("counts.estimate-rows", ["table": table]).decode { try $0["rows"] }[0]
        }
        return try ask(rowQuestion, of: table, holding: scope, session).sum
    }

    /// The pages of 8 KiB of a table or shard.
    static func pages(of table: String, holding scope: Int64, _ session: borrowing PostgresSession) throws -> Int {
        guard session.isDistributed else { return try session.run("apps.count-pages", ["table": table]).readCount() }
        let (pages, isWhole) = try ask(pageQuestion, of: table, holding: scope, session)
        guard isWhole else { throw Problem(.unavailable, "A worker of Citus does not answer.") }
        return Int(pages)
    }

    private static func ask(
        _ question: String,
        of table: String,
        holding scope: Int64,
        _ session: borrowing PostgresSession
    ) throws -> (sum: Double, isWhole: Bool) {
        try session.execute(
            """
            SELECT coalesce(sum(answer.result::float8) FILTER (WHERE answer.success), 0), bool_and(answer.success)
            FROM run_command_on_workers((SELECT format(\(question), current_schema(), \(table), \(scope)::bigint))) AS answer
            """
        )[0].decode(Double.self, Bool.self)
    }

    private static let pageQuestion = question(
        "coalesce(sum(pg_relation_size(c.oid)), 0)::int8 / current_setting('block_size')::int8"
    )

    /// The estimate of `counts.estimate-rows`.
    private static let rowQuestion = question(
        """
        coalesce(sum(pg_relation_size(c.oid)::float8
            * CASE WHEN c.reltuples >= 0 AND c.relpages > 0
                THEN greatest(c.reltuples, c.relpages)::float8 / c.relpages / current_setting('block_size')::float8
                ELSE 1 / 300.0 END)::float8, 0)
        """
    )

    /// A query about the shards `c`, as a format for schema, table and scope.
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

/// A sample of a table's pages. Counting a large table then takes no longer than counting a small one.
struct TableSample {
    private let size: Int
    /// 100 up to the sample's size, otherwise 50, 25, 12.5 and so on. The steps keep the sampled pages stable for a
    /// while.
    let percent: Double

    init(_ table: String, size: Int, of scope: Scope, _ session: borrowing PostgresSession) throws {
        let rows = try TableSizes.rows(of: table, holding: scope.id, session)
        self.size = size
        percent = 100 / exp2(max(0, log2(rows / Double(size)).rounded(.up)))
    }

    /// Groups of rows with their counts, extrapolated to the whole table, and whether the counts are estimates.
    ///
    /// - Parameter query: must read only the part `:percent` of the table.
    func count<Group>(
        _ query: Query,
        _ values: QueryValues,
        _ session: borrowing PostgresSession,
        _ group: (NamedRow) throws -> Group
    ) throws -> (groups: [(Group, count: Int)], isEstimated: Bool) {
        func run(_ percent: Double) throws -> [(Group, count: Int)] {
            try session.run(query, values + ["percent": percent]).decode { (try group($0), try $0["count"]) }
        }
        let groups = try run(percent)
        guard percent < 100 else { return (groups, false) }
        let scale = 100 / percent
        // A sample is inaccurate for an app with few rows, and its index finds them fast.
        guard Double(groups.map(\.count).reduce(0, +)) * scale > Double(size) else { return (try run(100), false) }
        return (groups.map { ($0.0, Int((Double($0.count) * scale).rounded())) }, true)
    }
}
