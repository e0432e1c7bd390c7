import PostgresDriver
import RegistryCore

/// The statements about the channel of an alias.
struct ChannelStatements {
    let alias: Alias
    let scope: Scope
    let who: UTF8Text

    private var app: Int64 { scope.app.number }
    private var environment: String { scope.environment.rawValue }

    private func matches(_ row: String) -> SQL {
        """
        \(sql: scope.contains(row)) AND \(unescaped: row).kind = \(alias.kind) AND \(unescaped: row).value = \(alias.value)
        """
    }

    /// The lock for changing channels of an app and environment: changes come one after the other, so that two cannot
    /// both be the last within the quota. Always writes (R1); no row when the app is gone.
    var lock: SQL {
        """
        INSERT INTO channel_quotas AS stored (app_number, environment)
        SELECT app.app_number, \(environment)::apns_environment FROM apps app WHERE app.app_number = \(app)
        ON CONFLICT (app_number, environment) DO UPDATE SET touched_at = excluded.touched_at
        RETURNING stored.touched_at
        """
    }

    /// The alias's own channel.
    var known: SQL {
        "SELECT \(BroadcastChannel.columns(of: "own")) FROM channels own WHERE \(sql: matches("own"))"
    }

    /// Whether another alias has the channel that is asked for, and how many distinct ones all other aliases have. Asked
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
        INSERT INTO channels (app_number, environment, kind, value, channel_id, message_storage_policy)
        VALUES (\(app), \(environment)::apns_environment, \(alias.kind), \(alias.value), \(channel.id),
            \(channel.storagePolicy.rawValue))
        ON CONFLICT (app_number, environment, kind, value) DO UPDATE SET channel_id = excluded.channel_id,
            message_storage_policy = excluded.message_storage_policy, updated_at = excluded.updated_at
        """
    }

    var deletion: SQL { "DELETE FROM channels c WHERE \(sql: matches("c")) RETURNING 1" }

    func event(_ type: String) -> SQL {
        EventStatements.insertion(
            """
            SELECT \(type) AS type, NULL::text AS activity_id, NULL::bytea AS installation_hash, NULL::text AS subject,
                jsonb_build_object(\(alias.kind), jsonb_build_array(\(alias.value))) AS aliases,
                NULL::bytea AS token_digest
            """,
            by: who,
            in: scope
        )
    }

    /// The channels of aliases; each row begins with the alias's position in the request.
    static func channels(of aliases: [Alias], in scope: Scope) -> SQL {
        """
        SELECT q.position, \(BroadcastChannel.columns(of: "c"))
        FROM unnest(\(aliases.map(\.kind)), \(aliases.map(\.value))) WITH ORDINALITY AS q (kind, value, position)
        CROSS JOIN LATERAL (
            SELECT ch.channel_id, ch.message_storage_policy FROM channels ch
            WHERE \(sql: scope.contains("ch"))
                AND ch.kind = q.kind AND ch.value = q.value LIMIT 1
        ) AS c
        """
    }
}

extension BroadcastChannel {
    /// The columns of the row called `row`.
    static func columns(of row: String) -> Columns<BroadcastChannel> {
        Columns(
            .one("\(row).channel_id"),
            .raw("\(row).message_storage_policy"),
            as: { (id: UTF8Text, policy: StoragePolicy) in BroadcastChannel(stored: id, storagePolicy: policy) }
        )
    }
}
