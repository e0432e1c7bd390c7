import Foundation
import PostgresDriver
import RegistryCore

/// The statements that count what there is.
///
/// Large tables are counted by a sample of their pages, so that counting costs the same however large they are; which
/// share of a table is sampled follows from its size as Postgres last noted it.
struct StatisticsStatements {
    let scope: Scope

    /// About how many rows of a table a sample reads: fewer where others have to be looked up for each, to say whether it
    /// is over or its token handed out, which takes five to fifteen microseconds.
    static func sampleSize(of table: String) -> Int {
        switch table {
        case "events": 100_000
        case "activities": 30_000
        default: 40_000
        }
    }

    /// The tables of tokens: of activities, and of installations.
    static let tables = ["activities", "installation_tokens"]

    /// About how many rows each table has, partitions included: as many a page as Postgres last noted, and at least one, on
    /// the pages that there are now. What was noted nothing about is judged by its size.
    ///
    /// A table that was empty when it was last looked at, and has a million rows since, is not taken for a small one.
    static func sizes(of tables: [String]) -> SQL {
        """
        SELECT q.name, coalesce((SELECT sum(pg_relation_size(c.oid)::float8
                * CASE WHEN c.reltuples >= 0 AND c.relpages > 0
                    THEN greatest(c.reltuples, c.relpages)::float8 / c.relpages / current_setting('block_size')::float8
                    ELSE 1 / 300.0 END)::float8
            FROM pg_class c WHERE c.relkind = 'r' AND (c.oid = q.name::regclass
                OR c.oid IN (SELECT p.relid FROM pg_partition_tree(q.name::regclass) p))), 0)
        FROM unnest(\(tables)) WITH ORDINALITY AS q (name, position) ORDER BY q.position
        """
    }

    /// How much of each table is counted, in their order: all of it up to the size of a sample, so that no table takes longer
    /// than a sample does; of larger ones a half, a quarter, an eighth and so on, for each part is a text of its own.
    ///
    /// - Parameter app: whose rows are counted; of distributed tables only the shards that have them are read.
    static func percents(
        of tables: [String],
        sampling sampleSize: (String) -> Int,
        of app: Int64? = nil,
        _ session: borrowing PostgresSession
    ) throws -> [Double] {
        let sizes = session.isDistributed ? DistributedSizes.rows(of: tables, holding: app) : sizes(of: tables)
        return try session.execute(sizes).rows.map { row in
            let (table, rows) = try row.decode(String.self, Double.self)
            return 100 / exp2(max(0, log2(rows / Double(sampleSize(table))).rounded(.up)))
        }
    }

    /// Pages of a table; the same ones each time, so that charts do not flicker. Their part is no parameter, which Citus does
    /// not pass on as it is where there are joins.
    static func sampled(_ table: String, _ percent: Double) -> SQL {
        percent >= 100
            ? "\(unescaped: table)"
            : "\(unescaped: table) TABLESAMPLE SYSTEM (\(unescaped: "\(percent)")) REPEATABLE (7)"
    }

    /// The number of the group of an age, from 0.
    private static func group(_ age: String) -> String {
        let limits = RegistryStatistics.ageLimits.map { "'\($0.components.seconds) seconds'::interval" }
        return "width_bucket(\(age), ARRAY[\(limits.joined(separator: ", "))])"
    }

    /// Rows `r` of pages of a table, each with its verdict as `v`. A view has no pages, so it is asked for each row by the
    /// row's place.
    ///
    /// - Parameter app: whose rows are asked for, as the caller says, too; nil for those of all.
    static func judged(_ table: String, _ percent: Double, of app: Int64?) -> SQL {
        let view: VerdictView = table == "activities" ? .activities : .installationTokens
        let verdicts = app.map(view.query) ?? "\(unescaped: view.rawValue)"
        let isOfApp: SQL = app.map { "AND \(sql: RowPlaces.isOf($0, "its"))" } ?? ""
        return """
            \(sql: sampled("\(table) AS r", percent)) CROSS JOIN LATERAL (
                SELECT * FROM \(sql: verdicts) its WHERE its.place = r.ctid \(sql: isOfApp) LIMIT 1
            ) AS v
            """
    }

    /// Activities by state, age and the age of their token's confirmation. Their number is asked for, so that an index has those of
    /// an app by themselves.
    func activities(percent: Double) -> SQL {
        """
        SELECT v.state, \(unescaped: Self.group("now() - r.started_at")),
            CASE WHEN v.verdict IS NULL THEN \(unescaped: Self.group("now() - r.confirmed_at")) END, count(*)
        FROM \(sql: Self.judged("activities", percent, of: scope.app.number))
        WHERE \(sql: scope.contains("r")) AND r.activity_number > 0
        GROUP BY 1, 2, 3
        """
    }

    /// Tokens of installations by kind and the age of their confirmation.
    func tokens(percent: Double) -> SQL {
        """
        SELECT r.kind, \(unescaped: Self.group("now() - r.confirmed_at")), count(*)
        FROM \(sql: Self.judged("installation_tokens", percent, of: scope.app.number))
        WHERE \(sql: scope.contains("r")) AND v.verdict IS NULL
        GROUP BY 1, 2
        """
    }

    // MARK: Over time

    private static let common = AuditEventStatements.commonTypes.sorted()

    /// A sample's events of the types that most requests write, or of all others, by step and type.
    func sampledEvents(areCommon: Bool, since start: Date, step: Duration, percent: Double) -> SQL {
        let matches = areCommon ? "= ANY" : "<> ALL"
        return """
            SELECT \(sql: Self.step(step)), e.type, count(*)
            FROM \(sql: Self.sampled("events AS e", percent))
            WHERE \(sql: scope.contains("e")) AND e.recorded_at >= \(start)
                AND e.type \(unescaped: matches)(\(Self.common))
            GROUP BY 1, 2
            """
    }

    /// The most rare events that are counted.
    static let mostRareEvents = 200_000

    /// Events of all but the common types, which an index has by themselves; only so many of them, and not the latest, where there are
    /// more.
    func rareEvents(since start: Date, step: Duration) -> SQL {
        let types = Self.common.map { "'\($0)'" }.joined(separator: ", ")
        return """
            SELECT \(sql: Self.step(step)), e.type, count(*) FROM (
                SELECT e.type, e.recorded_at FROM events e
                WHERE \(sql: scope.contains("e")) AND e.type NOT IN (\(unescaped: types)) AND e.recorded_at >= \(start)
                LIMIT \(Self.mostRareEvents)
            ) AS e
            GROUP BY 1, 2
            """
    }

    /// The counts that ``Registry/recordTokenCounts()`` has remembered: a row a kind, with nulls where there was no
    /// token at all.
    func tokenCounts(since start: Date) -> SQL {
        """
        SELECT c.counted_at, k.kind, k.count::bigint
        FROM token_counts c LEFT JOIN LATERAL jsonb_each_text(c.counts) AS k (kind, count) ON true
        WHERE \(sql: scope.contains("c")) AND c.counted_at >= \(start)
        ORDER BY c.counted_at
        """
    }

    private static func step(_ step: Duration) -> SQL {
        "date_bin(\(step), e.recorded_at, '2020-01-01'::timestamptz)"
    }
}
