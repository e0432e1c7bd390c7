import TestSupport

@testable import PostgresDriver

/// The work of Postgres for a statement on the service's own connections: the generic plan (`force_generic_plan`), and
/// its execution with the statement's values.
///
/// `EXPLAIN` of a statement with bound parameters would show a custom plan for their values.
struct QueryPlan {
    let statement: String
    let text: String

    /// The tables with sequential scans, except tables that are always small.
    var wholeReads: [String] {
        let small = ["apps", "api_keys", "deleted_apps", "events_event_number_seq", "quarantine_guards", "scopes"]
        return numbers(of: /Seq Scan on (\w+)/) { String($0) }.filter { !small.contains($0) }
    }

    /// The most rows that one step read and discarded. A full index scan shows here.
    var mostRemoved: Int { numbers(of: /Rows Removed by [A-Za-z ]+: (\d+)/) { Int($0) }.max() ?? 0 }

    var mostRows: Int { numbers(of: /rows=(\d+)/) { Int($0) }.max() ?? 0 }

    var pages: Int {
        let counts = text.split(separator: "\n").first { $0.contains("Buffers:") } ?? ""
        return counts.matches(of: /(?:shared|local) hit=(\d+)|read=(\d+)/)
            .compactMap { Int($0.1 ?? $0.2 ?? "") }.reduce(0, +)
    }

    /// Whether it reads the summary of the audit trail, by Postgres's index name in each partition.
    var asksSummary: Bool { text.contains(/Bitmap Index Scan on \w*_recorded_at_installation_hash/) }

    private func numbers<Value>(
        of pattern: some RegexComponent<(Substring, Substring)>,
        _ read: (Substring) -> Value?
    ) -> [Value] { text.matches(of: pattern).compactMap { read($0.output.1) } }

    /// Runs statements in one transaction, like a unit of work, and rolls the transaction back.
    ///
    /// - Parameter first: statements that run before the explained statements. Their plans are not in the result.
    static func plans(
        of statements: [SQL],
        after first: [SQL] = [],
        in database: TestDatabase
    ) async throws -> [QueryPlan] {
        let prepared = statements.map(PreparedPlan.init)
        do {
            return try await database.pool.withSession { session in
                try session.transaction { transaction -> [QueryPlan] in
                    _ = try transaction.pipeline(["SET LOCAL statement_timeout = 0"] + first)
                    let plans = try prepared.map { statement in
                        try statement.prepare(transaction)
                        defer { _ = try? transaction.execute(statement.deallocation) }
                        return try statement.run(transaction)
                    }
                    throw Undone(plans: plans)
                }
            }
        } catch let undone as Undone { return undone.plans }
    }

    static func plan(of statement: SQL, in database: TestDatabase) async throws -> QueryPlan {
        try await plans(of: [statement], in: database)[0]
    }

    private struct Undone: Error { let plans: [QueryPlan] }
}

extension SQL {
    /// Whether the server infers the types of its parameters.
    var isQuery: Bool { identity != nil }
}

private struct PreparedPlan: Sendable {
    let statement: SQL
    private let name = "of_test_" + String(UInt64.random(in: .min ... .max), radix: 16)

    init(_ statement: SQL) { self.statement = statement }

    var deallocation: SQL { "DEALLOCATE \(unescaped: name)" }

    /// Prepares the statement and makes its plan. Settings are applied at once because later plans depend on them.
    func prepare(_ transaction: borrowing PostgresTransaction) throws {
        let (declared, values) = try literals(transaction)
        let types = statement.isQuery ? [] : declared
        let results = try transaction.pipeline([
            "SELECT current_setting('plan_cache_mode')",
            "PREPARE \(unescaped: name) \(unescaped: Self.list(types)) AS \(unescaped: statement.text)",
            "EXPLAIN EXECUTE \(unescaped: name) \(unescaped: Self.list(values))",
        ])
        guard try results[0][0].decode(String.self) == "force_generic_plan" else {
            throw PostgresError(.misuse, "the connection does not plan as the service's do")
        }
        if statement.text.contains("set_config") { _ = try transaction.execute(statement) }
    }

    func run(_ transaction: borrowing PostgresTransaction) throws -> QueryPlan {
        let values = try literals(transaction).values
        do {
            let lines = try transaction.execute(
                """
                EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)
                EXECUTE \(unescaped: name) \(unescaped: Self.list(values))
                """
            ).decode(String.self)
            return QueryPlan(statement: statement.text, text: lines.joined(separator: "\n"))
        } catch { throw Failure(statement: statement.text, error: error) }
    }

    private struct Failure: Error {
        let statement: String
        let error: any Error
    }

    private static func list(_ words: [String]) -> String { words.isEmpty ? "" : "(\(words.joined(separator: ", ")))" }

    /// The names of the parameters' types, and the values as Postgres's text.
    private func literals(_ transaction: borrowing PostgresTransaction) throws -> (types: [String], values: [String]) {
        let parameters = statement.parameters
        guard !parameters.isEmpty else { return ([], []) }
        var texts = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: parameters.count)
        texts.pieces = ["SELECT ARRAY[quote_nullable("]
        texts.pieces += [String](repeating: "::text), quote_nullable(", count: parameters.count - 1) + ["::text)]"]
        texts.parameters = parameters
        let numbers = parameters.map { Int64($0.type.rawValue) }
        let results = try transaction.pipeline([
            SQL(stringInterpolation: texts),
            """
            SELECT array_agg(format_type(t.oid::oid, NULL) ORDER BY t.position)
            FROM unnest(\(numbers)) WITH ORDINALITY AS t (oid, position)
            """,
        ])
        return (try results[1][0].decode([String].self), try results[0][0].decode([String].self))
    }
}
