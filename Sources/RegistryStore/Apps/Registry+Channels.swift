import PostgresDriver
import RegistryCore

extension Registry {
    /// How many distinct channels APNs lets an app have in one environment.
    public static let channelQuota = 10_000

    /// Sets the channel of an alias.
    ///
    /// - Parameter quota: for tests, less than Apple's.
    /// - Returns: whether the alias had none before.
    /// - Throws: `channelQuota`.
    public func put(
        _ channel: BroadcastChannel,
        for alias: Alias,
        quota: Int = channelQuota,
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> Bool {
        let statements = ChannelStatements(alias: alias, scope: scope, who: who)
        return try await write { session in
            try session.transaction { transaction in
                let results = try transaction.pipeline([
                    statements.lock, Refusal.facts(ofApp: scope.app.number), statements.known,
                    statements.channelUse(of: channel),
                ])
                guard !results[0].isEmpty else { throw try Refusal(of: nil, results[1][0]).problem }
                let known = try results[2].decode(BroadcastChannel.columns(of: "own")).first
                let (isShared, others) = try results[3][0].decode(Bool.self, Int.self)
                guard isShared || others < quota else { throw Self.quotaProblem(quota) }
                let event = known == channel ? [] : [statements.event("channel-set")]
                _ = try transaction.pipeline([statements.put(channel)] + event, finishing: true)
                return known == nil
            }
        }
    }

    private static func quotaProblem(_ quota: Int) -> Problem {
        let detail = "APNs allows \(quota) channels an app and environment. Delete those that are not needed any more."
        return Problem(.channelQuota, detail)
    }

    /// The channel of an alias, or nil when it has none.
    public func channel(of alias: Alias, in scope: Scope) async throws -> BroadcastChannel? {
        let statement = ChannelStatements.channels(of: [alias], in: scope)
        return try await read { session in
            try session.execute(statement).byPosition(of: 1, BroadcastChannel.columns(of: "c"))[0].first
        }
    }

    /// Takes its channel from an alias, which may have none. The channel itself lives on in APNs.
    public func deleteChannel(of alias: Alias, in scope: Scope, by who: UTF8Text) async throws {
        let statements = ChannelStatements(alias: alias, scope: scope, who: who)
        try await write { session in
            try session.transaction { transaction in
                let results = try transaction.pipeline([
                    statements.lock, Refusal.facts(ofApp: scope.app.number), statements.deletion,
                ])
                guard !results[0].isEmpty else { throw try Refusal(of: nil, results[1][0]).problem }
                let event = results[2].isEmpty ? [] : [statements.event("channel-deleted")]
                _ = try transaction.pipeline(event, finishing: true)
            }
        }
    }
}
