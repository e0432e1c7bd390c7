import Foundation
import PostgresDriver

/// A table that is counted by some of its pages, so that counting takes as long however large it is.
struct TableSample {
    private let size: Int
    /// How much of the table is read: all of it up to the size of a sample; of larger ones a half, a quarter, an eighth and so
    /// on, because each part is a text of its own.
    let percent: Double

    /// - Parameters:
    ///   - size: about how many rows are read at most.
    ///   - app: whose rows are counted; of a distributed table only the shard that has them is read.
    init(_ table: String, size: Int, of app: Int64, _ session: borrowing PostgresSession) throws {
        let statement = session.isDistributed ? DistributedSizes.rows(of: table, holding: app) : Self.rows(of: table)
        let rows = try session.execute(statement)[0].decode(Double.self)
        self.size = size
        percent = 100 / exp2(max(0, log2(rows / Double(size)).rounded(.up)))
    }

    /// About how many rows the tables `c` of `pg_class` have: as many a page as Postgres last noted, and at least one, on the
    /// pages that there are now. What was noted nothing about is judged by its size.
    ///
    /// A table that was empty when it was last looked at, and has a million rows since, is not taken for a small one.
    static let rowSum = """
        coalesce(sum(pg_relation_size(c.oid)::float8
            * CASE WHEN c.reltuples >= 0 AND c.relpages > 0
                THEN greatest(c.reltuples, c.relpages)::float8 / c.relpages / current_setting('block_size')::float8
                ELSE 1 / 300.0 END)::float8, 0)
        """

    /// About how many rows a table has, partitions included.
    static func rows(of table: String) -> SQL {
        """
        SELECT \(unescaped: rowSum)
        FROM pg_class c WHERE c.relkind = 'r' AND (c.oid = \(table)::regclass
            OR c.oid IN (SELECT p.relid FROM pg_partition_tree(\(table)::regclass) p))
        """
    }

    /// Pages of a table; the same ones each time, so that charts do not flicker. Their part is no parameter, which Citus does
    /// not pass on as it is where there are joins.
    static func pages(_ table: String, _ percent: Double) -> SQL {
        percent >= 100
            ? "\(unescaped: table)"
            : "\(unescaped: table) TABLESAMPLE SYSTEM (\(unescaped: "\(percent)")) REPEATABLE (7)"
    }

    /// Groups of rows with their counts, as many as the whole table would give, and whether these are estimates.
    func count<Group>(
        _ session: borrowing PostgresSession,
        _ statement: (Double) -> SQL,
        _ read: (PostgresRow) throws -> (Group, Int)
    ) throws -> (groups: [(Group, Int)], isEstimated: Bool) {
        let groups = try session.execute(statement(percent)).rows.map(read)
        guard percent < 100 else { return (groups, false) }
        let scale = 100 / percent
        // Of an app with so few rows a sample says little, and its index has them at once.
        guard Double(groups.map(\.1).reduce(0, +)) * scale > Double(size) else {
            return (try session.execute(statement(100)).rows.map(read), false)
        }
        return (groups.map { ($0.0, Int((Double($0.1) * scale).rounded())) }, true)
    }
}
