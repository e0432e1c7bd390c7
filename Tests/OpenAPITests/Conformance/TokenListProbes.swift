import RegistryCore
import TestSupport

extension Probe {
    private static func profile(_ installation: String, _ alias: String) -> Message {
        .put("…/installations/" + installation, ["aliases": ["userId": .string(alias)]])
    }

    private static func token(_ path: String, _ number: Int) -> Message { .token(path, number, 1) }

    static let tokenLists: [Probe] = [
        Probe("listStartTokensByAlias", "a page", .get("…/aliases/userId/t-1/start-tokens?limit=1"))
            .after(profile("t-1", "t-1"), token("t-1/start-tokens/Delivery", 150), token("t-1/start-tokens/Match", 151))
            .gives([
                "pushType": "liveactivity", "alias": ["kind": "userId", "value": "t-1"],
                "/tokens/0/token": .token(150), "/tokens/0/pushType": "liveactivity",
                "/tokens/0/topic": "com.example.food.push-type.liveactivity", "/tokens/1": .null,
            ])
            .names("nextCursor"),
        Probe("listStartTokensByAlias", "of a type", .get("…/aliases/userId/t-4/start-tokens?attributesType=Match"))
            .after(profile("t-4", "t-4"), token("t-4/start-tokens/Delivery", 470), token("t-4/start-tokens/Match", 471))
            .gives(200, ["/tokens/0/token": .token(471), "/tokens/1": .null]),
        Probe("listStartTokensByAlias", "of all faults", .get("…/aliases/1/./start-tokens?limit=0&attributesType=.."))
            .fails(.invalidRequest).at("/kind", "/value", "/limit", "/attributesType"),
        Probe("listStartTokensByAlias", "deleted", .get("…/aliases/userId/t-5/start-tokens"))
            .after(
                profile("t-5", "t-5"),
                token("t-5/start-tokens/Match", 472),
                .delete("…/installations/t-5/start-tokens/Match")
            )
            .gives(200, ["tokens": []]),
        Probe("listDeviceTokensByAlias", "a page", .get("…/aliases/userId/t-2/device-tokens"))
            .after(profile("t-2", "t-2"), token("t-2/device-token", 152))
            .gives([
                "pushType": "alert", "topic": "com.example.food", "/tokens/0/token": .token(152),
                "/tokens/0/pushType": "alert",
            ]),
        Probe("listDeviceTokensByAlias", "deleted by its kind", .get("…/aliases/userId/t-6/device-tokens"))
            .after(profile("t-6", "t-6"), token("t-6/device-token", 473), .delete("…/installations/t-6/tokens/device"))
            .gives(200, ["tokens": []]),
        Probe("listDeviceTokensByAlias", "nothing", .get("…/aliases/userId/t-3/device-tokens"))
            .gives(200, ["tokens": []]),
    ]

    private static let channelID: JSONValue = "dHN0LXNyY2gtY2hubA=="
    private static let firstChannel: JSONObject = [
        "channelId": channelID, "messageStoragePolicy": 1, "alias": ["kind": "matchId", "value": "c-1"],
    ]

    private static func channel(_ alias: String, policy: JSONValue = 1, id: JSONValue = channelID) -> Message {
        .put("…/aliases/matchId/\(alias)/channel", ["channelId": id, "messageStoragePolicy": policy])
    }

    static let channels: [Probe] =
        [
            Probe("putChannel", "a first one", channel("c-1"))
                .gives(201, firstChannel),
            Probe("putChannel", "again", channel("c-2", policy: 0))
                .after(channel("c-2"))
                .gives(200, ["messageStoragePolicy": 0]),
            Probe("putChannel", "in words", channel("c-3", policy: "none")).fails(.invalidRequest),
            Probe("getChannel", "known", .get("…/aliases/matchId/c-4/channel"))
                .after(channel("c-4"))
                .gives(200, ["alias": ["kind": "matchId", "value": "c-4"]]),
            Probe("getChannel", "unknown", .get("…/aliases/matchId/c-5/channel")).fails(.channelNotFound),
            Probe("getChannel", "of no kind", .get("…/aliases/7/x/channel")).fails(.invalidRequest),
            Probe("deleteChannel", "unknown", .delete("…/aliases/matchId/c-6/channel")).gives(204),
            Probe("deleteChannel", "of no kind", .delete("…/aliases/7/x/channel")).fails(.invalidRequest),
            Probe("listActivitiesByAlias", "with a channel", .get("…/aliases/matchId/c-7/activities"))
                .after(channel("c-7"))
                .gives(200, ["channels": [["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": 1]]]),
            Probe("listActivitiesByAlias", "with a channel as lines", .lines("…/aliases/matchId/c-8/activities"))
                .after(channel("c-8"))
                .gives(200, ["/0/channels/0/channelId": "dHN0LXNyY2gtY2hubA=="]),
            Probe("resolveAliases", "with a channel", .resolve("matchId", "c-9"))
                .after(channel("c-9"))
                .gives(200, ["/results/0/channels/0/channelId": "dHN0LXNyY2gtY2hubA=="]),
            Probe("listActivitiesByAlias", "without its channel", .get("…/aliases/matchId/c-10/activities"))
                .after(channel("c-10"), .delete("…/aliases/matchId/c-10/channel"))
                .gives(200, ["channels": []]),
            Probe("putChannel", "with the shortest id", channel("c-11", id: "dHN0")).gives(201),
        ]

    private static let refusedIDs = ["", "no base64", "AAAA=", "QUJD\u{0}"].map { id in
        Probe("putChannel", "with the id \(id)", channel("c-12", policy: 2, id: .string(id)))
            .fails(.invalidRequest).at("/channelId", "/messageStoragePolicy")
    }
    private static let refusedPolicies = ([2, "1", .null, 0.5] as [JSONValue]).map { policy in
        Probe("putChannel", "with the policy \(policy)", channel("c-12", policy: policy))
            .fails(.invalidRequest).at("/messageStoragePolicy")
    }

    static let refusedChannels = refusedIDs + refusedPolicies
}
