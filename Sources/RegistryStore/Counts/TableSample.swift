import Foundation
import PostgresDriver

/// A sample of a table's pages, so that counting a large table takes no longer than counting a small one.
struct TableSample {
    private let size: Int
    /// The part of the table that is read: all of a table up to the sample's size, else a half, a quarter, an eighth and so
    /// on, because each part makes another statement text.
    let percent: Double

    /// - Parameters:
    ///   - size: the approximate limit of rows.
    ///   - scope: counts only the shard with its rows, if the table is distributed.
    init(_ table: String, size: Int, of scope: Scope, _ session: borrowing PostgresSession) throws {
        let statement =
            session.isDistributed ? DistributedSizes.rows(of: table, holding: scope.id) : Self.rows(of: table)
        let rows = try session.execute(statement)[0].decode(Double.self)
        self.size = size
        percent = 100 / exp2(max(0, log2(rows / Double(size)).rounded(.up)))
    }

    /// The approximate number of rows of the tables `c` of `pg_class`: the current pages times the rows per page of the last
    /// ANALYZE, at least one. A table without ANALYZE is estimated by its size.
    ///
    /// So a table that was empty at its last ANALYZE and has a million rows now is not taken for a small one.
    static let rowSum = """
        coalesce(sum(pg_relation_size(c.oid)::float8
            * CASE WHEN c.reltuples >= 0 AND c.relpages > 0
                THEN greatest(c.reltuples, c.relpages)::float8 / c.relpages / current_setting('block_size')::float8
                ELSE 1 / 300.0 END)::float8, 0)
        """

    /// The approximate number of rows of a table, partitions included.
    static func rows(of table: String) -> SQL {
        """
        SELECT \(unescaped: rowSum)
        FROM pg_class c WHERE c.relkind = 'r' AND (c.oid = \(table)::regclass
            OR c.oid IN (SELECT p.relid FROM pg_partition_tree(\(table)::regclass) p))
        """
    }

    /// Pages of a table, the same ones each time, so that charts do not flicker. The percentage is no parameter, because Citus
    /// changes parameters of statements with joins.
    static func pages(_ table: String, _ percent: Double) -> SQL {
        percent >= 100
            ? "\(unescaped: table)"
            : "\(unescaped: table) TABLESAMPLE SYSTEM (\(unescaped: "\(percent)")) REPEATABLE (7)"
    }

    /// Groups of rows with their counts, extrapolated to the whole table, and whether the counts are estimates.
    func count<Group>(
        _ session: borrowing PostgresSession,
        _ statement: (Double) -> SQL,
        _ read: (PostgresRow) throws -> (Group, Int)
    ) throws -> (groups: [(Group, Int)], isEstimated: Bool) {
        let groups = try session.execute(statement(percent)).rows.map(read)
        guard percent < 100 else { return (groups, false) }
        let scale = 100 / percent
        // A sample says little about an app with few rows, and its index finds them fast.
        guard Double(groups.map(\.1).reduce(0, +)) * scale > Double(size) else {
            return (try session.execute(statement(100)).rows.map(read), false)
        }
        return (groups.map { ($0.0, Int((Double($0.1) * scale).rounded())) }, true)
    }
}
