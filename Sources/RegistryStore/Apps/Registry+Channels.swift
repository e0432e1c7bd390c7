import PostgresDriver
import RegistryCore

extension Registry {
    /// APNs's limit of distinct channels per app and environment.
    package static let channelQuota = 10_000

    /// - Parameter quota: less than APNs's limit in tests.
    /// - Returns: whether the alias had no channel before.
    package func put(
        _ channel: BroadcastChannel,
        for alias: Alias,
        quota: Int = channelQuota,
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> Bool {
        let key = alias.values(in: scope)
        return try await transact { transaction, _ in
            let results = try transaction.pipeline([
                Query("channels.lock")(["scope": scope.id]), BroadcastChannel.find([alias], in: scope),
                Query("channels.count-others")(key + ["channel": channel.id]),
            ])
            guard !results[0].isEmpty else { throw Problem.appDeleted }
            let known = try results[1].decode(BroadcastChannel.self).first
            let (isShared, others): (Bool, Int) = try results[2].decode { (try $0["is_shared"], try $0["others"]) }[0]
            guard isShared || others < quota else {
                let limit = "APNs allows \(quota) channels per app and environment."
                throw Problem(.channelQuota, "\(limit) Delete unused channels.")
            }
            let put = Query("channels.put")(key + ["channel": channel.id, "policy": channel.storagePolicy])
            let event = known == channel ? [] : [Self.event("channel-set", of: alias, in: scope, by: who)]
            _ = try transaction.pipeline([put] + event, finishing: true)
            return known == nil
        }
    }

    package func channel(of alias: Alias, in scope: Scope) async throws -> BroadcastChannel? {
        try await read { try $0.execute(BroadcastChannel.find([alias], in: scope)).decode(BroadcastChannel.self).first }
    }

    /// Does not delete the channel in APNs.
    package func deleteChannel(of alias: Alias, in scope: Scope, by who: UTF8Text) async throws {
        try await transact { transaction, _ in
            let results = try transaction.pipeline([
                Query("channels.lock")(["scope": scope.id]), Query("channels.delete")(alias.values(in: scope)),
            ])
            guard !results[0].isEmpty else { throw Problem.appDeleted }
            let event = results[1].isEmpty ? [] : [Self.event("channel-deleted", of: alias, in: scope, by: who)]
            _ = try transaction.pipeline(event, finishing: true)
        }
    }

    private static func event(_ type: String, of alias: Alias, in scope: Scope, by who: UTF8Text) -> SQL {
        let event: QueryValues = ["type": type, "who": who, "retention": scope.app.settings.eventRetention]
        return Query("channels.record-event")(alias.values(in: scope) + event)
    }
}

extension BroadcastChannel: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(stored: try row["channel_id"], storagePolicy: try row["message_storage_policy"])
    }

    static func find(_ aliases: [Alias], in scope: Scope) -> SQL {
        Query("resolve.read-channels")([
            "kinds": aliases.map(\.kind), "values": aliases.map(\.value), "scope": scope.id,
        ])
    }
}
