import PostgresDriver
import RegistryCore

extension Registry {
    /// Counts what there is of all apps together; large tables are sampled.
    ///
    /// - Throws: `unavailable`.
    public func census() async throws -> Census {
        try await read { session in
            let percents = try StatisticsStatements.percents(
                of: StatisticsStatements.tables,
                sampling: CensusStatements.sampleSize(of:),
                session
            )
            let results = try session.pipeline([
                CensusStatements.activities(percent: percents[0]),
                CensusStatements.tokens(percent: percents[1]),
                CensusStatements.rest,
            ])
            var census = Census()
            try census.addActivities(results[0], scale: 100 / percents[0])
            try census.addTokens(results[1], scale: 100 / percents[1])
            let (lag, guards, events) = try results[2][0].decode(Duration?.self, Int.self, Int.self)
            census.sweepLag = lag ?? .zero
            census.activeGuards = guards
            census.eventsWritten = events
            return census
        }
    }
}

extension Census {
    fileprivate mutating func addActivities(_ result: PostgresResult, scale: Double) throws {
        for row in result.rows {
            let (place, word, token, count) = try row.decode(String.self, String.self, String?.self, Int.self)
            guard let environment = APNSEnvironment(rawValue: place), let state = ActivityState(rawValue: word) else {
                throw UnreadableRow(detail: "an unknown environment or state")
            }
            let all = Int((Double(count) * scale).rounded())
            activities[ActivityGroup(environment: environment, state: state), default: 0] += all
            if let token { try add(all, "update", token, environment) }
        }
    }

    fileprivate mutating func addTokens(_ result: PostgresResult, scale: Double) throws {
        for row in result.rows {
            let (place, kind, state, count) = try row.decode(String.self, String.self, String.self, Int.self)
            guard let environment = APNSEnvironment(rawValue: place) else {
                throw UnreadableRow(detail: "an unknown environment")
            }
            try add(Int((Double(count) * scale).rounded()), kind, state, environment)
        }
    }

    private mutating func add(_ count: Int, _ kind: String, _ word: String, _ environment: APNSEnvironment) throws {
        guard let state = TokenState(rawValue: word) else { throw UnreadableRow(detail: "an unknown state") }
        tokens[TokenGroup(environment: environment, kind: kind, state: state), default: 0] += count
    }
}
