import Foundation
import PostgresDriver
import Queries
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// Every query of `sql/queries` on 100,000 activities, with plans like the service's. A query scans no whole table or
/// index, unless its comment contains "Reads many rows".
@Suite(.timeLimit(.minutes(15))) struct QueryPlanTests {
    /// Postgres's statistics when the plans were made. A plan is kept for ten seconds, or until Postgres analyzes its table.
    enum Knowledge: String, CaseIterable {
        case everything
        case nothing
        case ofAHundredActivities = "of a hundred activities"
    }

    @Test(arguments: Knowledge.allCases) func `Queries find rows by index`(_ knowledge: Knowledge) async throws {
        let database = try await TestDatabase.make(maximumConnections: 1, isAlone: true, keepsPlans: true)
        let scope = try await database.scope()
        try await database.switchOffAutovacuum()
        switch knowledge {
        case .everything: try await QueryPlanFilling.fill(database, scope)
        case .nothing: break
        case .ofAHundredActivities: try await QueryPlanFilling.fill(database, scope, count: 100)
        }
        let queries = Query.all.values.sorted { $0.name < $1.name }.enumerated().map {
            SampledQuery($1, number: $0, scope)
        }
        try await database.pool.withSession { session in for query in queries { try query.prepare(session) } }
        switch knowledge {
        case .everything: break
        case .nothing: try await QueryPlanFilling.fill(database, scope, analyzes: false)
        case .ofAHundredActivities: try await QueryPlanFilling.fill(database, scope, from: 101, analyzes: false)
        }
        var most = 0
        for query in queries {
            let plan = try await database.pool.withSession { try query.run($0) }
            let isFaulty = plan.wholeReads != [] || (plan.isLong && !query.readsManyRows)
            #expect(!isFaulty, "\(query.name), \(plan.pages) pages:\n\(plan.text)")
            if !query.readsManyRows { most = max(most, plan.pages) }
        }
        print("figure: plans of \(queries.count) queries that knew \(knowledge.rawValue): at most \(most) pages")
    }

    /// Faults that the check must find: a sequential scan, a full index scan, and an index condition on a column that
    /// is not the first, which discards no row.
    @Test func `The check finds faulty plans`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        try await QueryPlanFilling.fill(database, scope)
        let controls = Query.parse(
            """
            -- name: controls.read-all
            SELECT FROM activities WHERE metadata IS NOT NULL;
            -- name: controls.walk-index
            SELECT FROM activities a WHERE a.scope_id = :scope AND a.attributes_type = 'none'
            ORDER BY a.activity_id LIMIT 1;
            -- name: controls.search-second-column
            SELECT FROM activity_aliases al
            WHERE al.scope_id = :scope AND al.activity_key = 77 AND al.kind = 'orderId';
            """
        )
        var plans: [QueryPlan] = []
        for (number, query) in controls.enumerated() {
            let control = SampledQuery(query, number: number, scope)
            plans.append(
                try await database.pool.withSession { session in
                    try control.prepare(session)
                    return try control.run(session)
                }
            )
        }
        #expect(plans[0].wholeReads == ["activities"])
        #expect(plans[1].mostRemoved > 100)
        #expect(plans[2].isLong || plans[2].wholeReads != [], "\(plans[2].text)")
    }
}

private struct SampledQuery: Sendable {
    private let query: Query
    private let preparedName: String
    private let scope: Scope

    init(_ query: Query, number: Int, _ scope: Scope) {
        self.query = query
        preparedName = "query_\(number)"
        self.scope = scope
    }

    var name: String { query.name }
    var readsManyRows: Bool { section.contains("Reads many rows") }

    /// The setting that the comment of the query names.
    private var setting: [SQL] {
        section.contains("after events.prefer-indexes") ? [Query("events.prefer-indexes")()] : []
    }

    private var section: String {
        let files = QueryFiles.contents.map { String(decoding: $0, as: UTF8.self) }
        let section = files.lazy.compactMap { $0.components(separatedBy: "-- name: \(name)\n").dropFirst().first }.first
        return section?.components(separatedBy: "-- name: ")[0] ?? ""
    }

    func prepare(_ session: borrowing PostgresSession) throws {
        let values = try values(session)
        _ = try session.execute("PREPARE \(unescaped: preparedName) AS \(unescaped: query.text)")
        _ = try session.pipeline(setting + ["EXPLAIN EXECUTE \(unescaped: preparedName) \(unescaped: values)"])
    }

    /// A query that fails with the sample values is planned and not run.
    func run(_ session: borrowing PostgresSession) throws -> QueryPlan {
        do {
            return try explain("(ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)", session)
        } catch is PostgresError { return try explain("(COSTS OFF)", session) }
    }

    private struct Undone: Error { let lines: [String] }

    private func explain(_ options: String, _ session: borrowing PostgresSession) throws -> QueryPlan {
        do {
            let values = try values(session)
            return try session.transaction { transaction -> QueryPlan in
                _ = try transaction.pipeline(["SET LOCAL statement_timeout = 0"] + setting)
                let explain: SQL = """
                    EXPLAIN \(unescaped: options) EXECUTE \(unescaped: preparedName) \(unescaped: values)
                    """
                throw Undone(lines: try transaction.execute(explain).decode(String.self))
            }
        } catch let undone as Undone { return QueryPlan(text: undone.lines.joined(separator: "\n")) }
    }

    private func values(_ session: borrowing PostgresSession) throws -> String {
        var samples: [String] = []
        for (name, type) in zip(query.parameters, try session.parameterTypes(of: query)) {
            samples.append(try sample(name, of: type, session))
        }
        return samples.isEmpty ? "" : "(\(samples.joined(separator: ", ")))"
    }

    /// A value from the rows of ``QueryPlanFilling`` by the parameter's name, or a value by its type.
    private func sample(_ name: String, of type: String, _ session: borrowing PostgresSession) throws -> String {
        if type.hasSuffix("[]") {
            let one = try sample(
                name.hasSuffix("s") ? String(name.dropLast()) : name,
                of: String(type.dropLast(2)),
                session
            )
            return "ARRAY[\(one)]::\(type)"
        }
        if let value = namedSamples["\(name) \(type)"] { return "\(value)::\(type)" }
        if let value = Self.samples[type] { return "\(value)::\(type)" }
        let columns = try session.execute(
            """
            SELECT a.attname::text, format_type(a.atttypid, NULL)
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
            WHERE c.oid = to_regclass(\(type)) ORDER BY a.attnum
            """
        ).decode(String.self, String.self)
        guard !columns.isEmpty else { return "(enum_range(NULL::\(type)))[1]" }
        var fields: [String] = []
        for (name, type) in columns { fields.append(try sample(name, of: type, session)) }
        return "ROW(\(fields.joined(separator: ", ")))::\(type)"
    }

    private var namedSamples: [String: String] {
        [
            "scope bigint": "\(scope.id)", "app bigint": "\(scope.app.id)", "id text": "'activity-6'",
            "activity_id text": "'activity-6'", "value text": "'3'",
            "digest bytea": "substr(sha256(int8send(6)), 1, 15)",
            "token_digest bytea": "substr(sha256(int8send(6)), 1, 15)",
            "owner text": "'app'", "through bigint": "120", "last timestamp with time zone": "now()",
        ]
    }

    private static let samples = [
        "boolean": "true", "smallint": "100", "integer": "100", "bigint": "100", "double precision": "1",
        "text": "'orderId'",
        "bytea": "sha256(int8send(2))", "jsonb": #"'{"orderId": ["3"]}'"#, "interval": "'1 hour'",
        "timestamp with time zone": "now()", "tid": "'(0,1)'",
    ]
}

/// A query's plan and the work of Postgres for it, as `EXPLAIN` writes them.
struct QueryPlan {
    let text: String

    /// The tables with sequential scans, except tables that are always small.
    var wholeReads: [String] {
        let small = ["apps", "api_keys", "deleted_apps", "events_event_number_seq", "quarantine_guards", "scopes"]
        return text.matches(of: /Seq Scan on (\w+)/).map { String($0.1) }.filter { !small.contains($0) }
    }

    /// The most rows that one step read and discarded. A full index scan shows here.
    var mostRemoved: Int { text.matches(of: /Rows Removed by [A-Za-z ]+: (\d+)/).compactMap { Int($0.1) }.max() ?? 0 }

    var pages: Int {
        let counts = text.split(separator: "\n").first { $0.contains("Buffers:") } ?? ""
        return counts.matches(of: /(?:shared|local) hit=(\d+)|read=(\d+)/)
            .compactMap { Int($0.1 ?? $0.2 ?? "") }.reduce(0, +)
    }

    /// Whether it reads more than a query about a few rows needs. Any large table or index as a whole exceeds this.
    var isLong: Bool { pages > 400 || mostRemoved > 100 }
}
