import PostgresDriver
import RegistryCore

extension Registry {
    /// APNs's limit of distinct channels per app and environment.
    package static let channelQuota = 10_000

    /// - Parameter quota: less than APNs's limit in tests.
    /// - Returns: whether the alias had no channel before.
    /// - Throws: `channelQuota`.
    package func put(
        _ channel: BroadcastChannel,
        for alias: Alias,
        quota: Int = channelQuota,
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> Bool {
        let key = Self.key(of: alias, in: scope)
        return try await write { session in
            try session.transaction { transaction in
                let results = try transaction.pipeline([
                    Query.lockChannels(Self.values(of: scope)), Refusal.facts(ofApp: scope.app.id),
                    Query.readChannel(key),
                    Query.countOtherChannels(key + ["channel": channel.id]),
                ])
                guard !results[0].isEmpty else { throw try Refusal.problem(results[1]) }
                let known = try results[2].decode(BroadcastChannel.self).first
                let use = try results[3].decode(ChannelUse.self)[0]
                guard use.isShared || use.others < quota else { throw Self.quotaProblem(quota) }
                let put = Query.putChannel(key + ["channel": channel.id, "policy": channel.storagePolicy])
                let event = known == channel ? [] : [Self.event("channel-set", of: alias, in: scope, by: who)]
                _ = try transaction.pipeline([put] + event, finishing: true)
                return known == nil
            }
        }
    }

    private static func quotaProblem(_ quota: Int) -> Problem {
        let detail = "APNs allows \(quota) channels per app and environment. Delete unused channels."
        return Problem(.channelQuota, detail)
    }

    package func channel(of alias: Alias, in scope: Scope) async throws -> BroadcastChannel? {
        let key = Self.key(of: alias, in: scope)
        return try await read { session in
            try session.run(.readChannel, key).decode(BroadcastChannel.self).first
        }
    }

    /// Does not delete the channel in APNs.
    package func deleteChannel(of alias: Alias, in scope: Scope, by who: UTF8Text) async throws {
        let key = Self.key(of: alias, in: scope)
        try await write { session in
            try session.transaction { transaction in
                let results = try transaction.pipeline([
                    Query.lockChannels(Self.values(of: scope)), Refusal.facts(ofApp: scope.app.id),
                    Query.deleteChannel(key),
                ])
                guard !results[0].isEmpty else { throw try Refusal.problem(results[1]) }
                let event = results[2].isEmpty ? [] : [Self.event("channel-deleted", of: alias, in: scope, by: who)]
                _ = try transaction.pipeline(event, finishing: true)
            }
        }
    }

    private static func values(of scope: Scope) -> QueryValues {
        ["scope": scope.id]
    }

    private static func key(of alias: Alias, in scope: Scope) -> QueryValues {
        values(of: scope) + ["kind": alias.kind, "value": alias.value]
    }

    private static func event(_ type: String, of alias: Alias, in scope: Scope, by who: UTF8Text) -> SQL {
        Query.recordChannelEvent(
            key(of: alias, in: scope) + ["type": type, "who": who, "retention": scope.app.settings.eventRetention]
        )
    }
}

extension Query {
    static let lockChannels: Query = "channels.lock"
    static let readChannel: Query = "channels.read"
    static let countOtherChannels: Query = "channels.count-others"
    static let putChannel: Query = "channels.put"
    static let deleteChannel: Query = "channels.delete"
    static let recordChannelEvent: Query = "channels.record-event"
}

extension BroadcastChannel: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(stored: try row["channel_id"], storagePolicy: try row["message_storage_policy"])
    }
}

private struct ChannelUse: DecodableRow {
    let isShared: Bool
    let others: Int

    init(row: NamedRow) throws {
        isShared = try row["is_shared"]
        others = try row["others"]
    }
}
