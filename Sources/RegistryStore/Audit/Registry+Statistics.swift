import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Counts of what there is, and of events over the last time.
    ///
    /// - Parameter window: how far back events are counted, within ``RegistryStatistics/windows``.
    package func statistics(over window: Duration, in scope: Scope) async throws -> RegistryStatistics {
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
            computedAt: try session.execute("SELECT now()")[0].decode(Date.self),
            window: window,
            step: RegistryStatistics.step(for: window)
        )
        let shares = try StatisticsStatements.percents(
            of: Self.tables,
            sampling: StatisticsStatements.sampleSize(of:),
            of: scope.app.number,
            session
        )
        percents = Dictionary(uniqueKeysWithValues: zip(Self.tables, shares))
        statistics.activityAges = RegistryStatistics.emptyAges
        statistics.tokens = TokenKind.all.map {
            RegistryStatistics.Tokens(kind: $0, ages: RegistryStatistics.emptyAges)
        }
    }

    /// Groups of rows with their counts, as many as the whole table would give.
    private mutating func count<Group>(
        _ table: String,
        _ session: borrowing PostgresSession,
        _ statement: (Double) -> SQL,
        _ read: (PostgresRow) throws -> (Group, Int)
    ) throws -> [(Group, Int)] {
        let percent = percents[table] ?? 100
        let groups = try session.execute(statement(percent)).rows.map(read)
        guard percent < 100 else { return groups }
        let scale = 100 / percent
        // Of an app with so few rows a sample says little, and its index has them at once.
        guard Double(groups.map(\.1).reduce(0, +)) * scale > Double(StatisticsStatements.sampleSize(of: table)) else {
            return try session.execute(statement(100)).rows.map(read)
        }
        statistics.isEstimated = true
        return groups.map { ($0.0, Int((Double($0.1) * scale).rounded())) }
    }

    mutating func countActivities(_ session: borrowing PostgresSession) throws {
        let statements = statements
        let groups = try count("activities", session, { statements.activities(percent: $0) }) { row in
            let (state, age, tokenAge, count) = try row.decode(String.self, Int.self, Int?.self, Int.self)
            return ((state: state, age: age, tokenAge: tokenAge), count)
        }
        for (group, count) in groups {
            statistics.activities[group.state, default: 0] += count
            guard group.state == "active" || group.state == "dismissed" else { continue }
            statistics.activityAges[group.age].count += count
            guard group.state == "active", let age = group.tokenAge else { continue }
            add(count, of: TokenKind.update.name, age: age)
        }
    }

    mutating func countTokens(_ session: borrowing PostgresSession) throws {
        let statements = statements
        let groups = try count("installation_tokens", session, { statements.tokens(percent: $0) }) { row in
            let (kind, age, count) = try row.decode(String.self, Int.self, Int.self)
            return ((kind: kind, age: age), count)
        }
        for (group, count) in groups { add(count, of: group.kind, age: group.age) }
    }

    private mutating func add(_ count: Int, of kind: String, age: Int) {
        guard let index = statistics.tokens.firstIndex(where: { $0.kind.name == kind }) else { return }
        statistics.tokens[index].count += count
        statistics.tokens[index].ages[age].count += count
    }

    mutating func countEvents(_ session: borrowing PostgresSession) throws {
        let (statements, step) = (statements, statistics.step)
        let start = statistics.computedAt.addingTimeInterval(-Double(statistics.window.components.seconds))
        func read(_ row: PostgresRow) throws -> ((step: Date, type: String), Int) {
            let (step, type, count) = try row.decode(Date.self, String.self, Int.self)
            return ((step, type), count)
        }
        var groups = try count(
            "events",
            session,
            { statements.sampledEvents(areCommon: true, since: start, step: step, percent: $0) },
            read
        )
        var rare = try session.execute(statements.rareEvents(since: start, step: step)).rows.map(read)
        if rare.map(\.1).reduce(0, +) >= StatisticsStatements.mostRareEvents {
            rare = try count(
                "events",
                session,
                { statements.sampledEvents(areCommon: false, since: start, step: step, percent: $0) },
                read
            )
        }
        groups += rare
        var steps: [Date: [String: Int]] = [:]
        for (group, count) in groups { steps[group.step, default: [:]][group.type] = count }
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
