import PostgresDriver
import RegistryCore

extension Registry {
    /// APNs's limit of distinct channels of an app in one environment.
    package static let channelQuota = 10_000

    /// Sets the channel of an alias.
    ///
    /// - Parameter quota: for tests, less than Apple's.
    /// - Returns: whether the alias had none before.
    /// - Throws: `channelQuota`.
    package func put(
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
                    statements.lock, Refusal.facts(ofApp: scope.app.id), statements.known,
                    statements.channelUse(of: channel),
                ])
                guard !results[0].isEmpty else { throw try Refusal(of: nil, results[1][0]).problem }
                let known = try results[2].decode(BroadcastChannel.columns).first
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

    package func channel(of alias: Alias, in scope: Scope) async throws -> BroadcastChannel? {
        let statement = ResolveStatements.channels(of: [alias], in: scope)
        return try await read { session in
            try session.execute(statement).byPosition(of: 1, BroadcastChannel.positioned)[0].first
        }
    }

    /// The channel itself continues to exist in APNs.
    package func deleteChannel(of alias: Alias, in scope: Scope, by who: UTF8Text) async throws {
        let statements = ChannelStatements(alias: alias, scope: scope, who: who)
        try await write { session in
            try session.transaction { transaction in
                let results = try transaction.pipeline([
                    statements.lock, Refusal.facts(ofApp: scope.app.id), statements.deletion,
                ])
                guard !results[0].isEmpty else { throw try Refusal(of: nil, results[1][0]).problem }
                let event = results[2].isEmpty ? [] : [statements.event("channel-deleted")]
                _ = try transaction.pipeline(event, finishing: true)
            }
        }
    }
}

struct ChannelStatements {
    let alias: Alias
    let scope: Scope
    let who: UTF8Text

    private func matches(_ row: String) -> SQL {
        """
        \(sql: scope.contains(row)) AND \(unescaped: row).kind = \(alias.kind) AND \(unescaped: row).value = \(alias.value)
        """
    }

    /// Serializes changes of a scope's channels, so that two cannot both be the last within the quota.
    /// Always writes (R1); no row if the app is gone.
    var lock: SQL {
        """
        INSERT INTO channel_quotas AS stored (scope_id)
        SELECT \(scope.id) FROM apps app WHERE app.app_id = \(scope.app.id)
        ON CONFLICT (scope_id) DO UPDATE SET touched_at = excluded.touched_at
        RETURNING stored.touched_at
        """
    }

    var known: SQL {
        "SELECT \(BroadcastChannel.columns) FROM channels c WHERE \(sql: matches("c"))"
    }

    /// Whether another alias has the requested channel, and the number of distinct channels of all other aliases. Run
    /// under the lock.
    func channelUse(of channel: BroadcastChannel) -> SQL {
        """
        SELECT EXISTS (
                SELECT FROM channels c WHERE \(sql: scope.contains("c")) AND c.channel_id = \(channel.id)
                    AND (c.kind, c.value) <> (\(alias.kind), \(alias.value))
            ),
            (
                SELECT count(DISTINCT c.channel_id) FROM channels c
                WHERE \(sql: scope.contains("c")) AND (c.kind, c.value) <> (\(alias.kind), \(alias.value))
            )
        """
    }

    func put(_ channel: BroadcastChannel) -> SQL {
        """
        INSERT INTO channels (scope_id, kind, value, channel_id, message_storage_policy)
        VALUES (\(scope.id), \(alias.kind), \(alias.value), \(channel.id), \(channel.storagePolicy.rawValue))
        ON CONFLICT (scope_id, kind, value) DO UPDATE SET channel_id = excluded.channel_id,
            message_storage_policy = excluded.message_storage_policy, updated_at = excluded.updated_at
        """
    }

    var deletion: SQL { "DELETE FROM channels c WHERE \(sql: matches("c")) RETURNING 1" }

    func event(_ type: String) -> SQL {
        EventStatements.insertion(
            """
            SELECT \(type) AS type, \(sql: EventStatements.columns(
                ofAliases: "jsonb_build_object(\(alias.kind), jsonb_build_array(\(alias.value)))"
            ))
            """,
            by: who,
            in: scope
        )
    }
}
