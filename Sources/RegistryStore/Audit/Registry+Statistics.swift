import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Counts of what there is, and of events over the last time.
    ///
    /// - Parameter window: how far back events are counted, within ``RegistryStatistics/windows``.
    public func statistics(over window: Duration, in scope: Scope) async throws -> RegistryStatistics {
        try await read { session in
            var counting = try Counting(window: window, scope: scope, session)
            try counting.countActivities(session)
            try counting.countTokens(session)
            try counting.countEvents(session)
            try counting.readTokenCounts(session)
            return counting.statistics
        }
    }
}

/// Counts table after table; a table that is large is sampled, unless the app has but a small part of it.
private struct Counting {
    private let statements: StatisticsStatements
    private let percents: [String: Double]
    var statistics: RegistryStatistics

    private static let tables = StatisticsStatements.tables + ["events"]

    init(window: Duration, scope: Scope, _ session: borrowing PostgresSession) throws {
        statements = StatisticsStatements(scope: scope)
        statistics = RegistryStatistics(
            computedAt: try session.execute("SELECT now()")[0].column(0, as: Date.self),
            window: window,
            step: RegistryStatistics.step(for: window)
        )
        let shares = try StatisticsStatements.percents(
            of: Self.tables,
            sampling: StatisticsStatements.sampleSize(of:),
            session
        )
        percents = Dictionary(uniqueKeysWithValues: zip(Self.tables, shares))
        statistics.activityAges = RegistryStatistics.emptyAges
        statistics.tokens = TokenKind.all.map {
            RegistryStatistics.Tokens(kind: $0, ages: RegistryStatistics.emptyAges)
        }
    }

    /// Rows with their counts, the last column, as many as the whole table would give.
    private mutating func count(
        _ table: String,
        _ session: borrowing PostgresSession,
        _ statement: (Double) -> SQL
    ) throws -> [(row: PostgresRow, count: Int)] {
        let percent = percents[table] ?? 100
        let rows = try Self.rows(statement(percent), session)
        guard percent < 100 else { return rows }
        let scale = 100 / percent
        // Of an app with so few rows a sample says little, and its index has them at once.
        guard Double(rows.map(\.count).reduce(0, +)) * scale > Double(StatisticsStatements.sampleSize(of: table)) else {
            return try Self.rows(statement(100), session)
        }
        statistics.isEstimated = true
        return rows.map { ($0.row, Int((Double($0.count) * scale).rounded())) }
    }

    private static func rows(
        _ statement: SQL,
        _ session: borrowing PostgresSession
    ) throws -> [(row: PostgresRow, count: Int)] {
        let result = try session.execute(statement)
        return try result.rows.map { ($0, try $0.column($0.count - 1, as: Int.self)) }
    }

    mutating func countActivities(_ session: borrowing PostgresSession) throws {
        let statements = statements
        for (row, count) in try count("activities", session, { statements.activities(percent: $0) }) {
            let state = try row.column(0, as: String.self)
            statistics.activities[state, default: 0] += count
            guard state == "active" || state == "dismissed" else { continue }
            statistics.activityAges[try row.column(1, as: Int.self)].count += count
            guard state == "active", let age = try row.column(2, as: Int?.self) else { continue }
            add(count, of: TokenKind.update.name, age: age)
        }
    }

    mutating func countTokens(_ session: borrowing PostgresSession) throws {
        let statements = statements
        for (row, count) in try count("installation_tokens", session, { statements.tokens(percent: $0) }) {
            add(count, of: try row.column(0, as: String.self), age: try row.column(1, as: Int.self))
        }
    }

    private mutating func add(_ count: Int, of kind: String, age: Int) {
        guard let index = statistics.tokens.firstIndex(where: { $0.kind.name == kind }) else { return }
        statistics.tokens[index].count += count
        statistics.tokens[index].ages[age].count += count
    }

    mutating func countEvents(_ session: borrowing PostgresSession) throws {
        let (statements, step) = (statements, statistics.step)
        let start = statistics.computedAt.addingTimeInterval(-Double(statistics.window.components.seconds))
        var rows = try count("events", session) { statements.commonEvents(since: start, step: step, percent: $0) }
        rows += try Self.rows(statements.rareEvents(since: start, step: step), session)
        var steps: [Date: [String: Int]] = [:]
        for (row, count) in rows {
            steps[try row.column(0, as: Date.self), default: [:]][try row.column(1, as: String.self)] = count
        }
        statistics.steps = steps.sorted { $0.key < $1.key }.map {
            RegistryStatistics.Step(start: $0.key, counts: $0.value)
        }
    }

    mutating func readTokenCounts(_ session: borrowing PostgresSession) throws {
        // A column of a chart may begin before its window, and shows what was counted shortly before it.
        let start = statistics.computedAt.addingTimeInterval(
            -Double((statistics.window + statistics.step + RegistryStatistics.tokenCountValidity).components.seconds)
        )
        for row in try session.execute(statements.tokenCounts(since: start)).rows {
            let (time, kind, count) = try row.decode(Date.self, String?.self, Int?.self)
            if statistics.tokenCounts.last?.start != time { statistics.tokenCounts.append(.init(start: time)) }
            guard let kind, let count else { continue }
            statistics.tokenCounts[statistics.tokenCounts.count - 1].counts[kind] = count
        }
    }
}
