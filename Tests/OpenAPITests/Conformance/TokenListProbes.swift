import RegistryCore

extension Probe {
    private static func profile(_ installation: String, _ alias: String) -> Message {
        .put("…/installations/" + installation, ["aliases": ["userId": .string(alias)]])
    }

    private static func token(_ path: String, _ number: Int) -> Message {
        .put("…/installations/" + path, Sample.registration(number, minutesAgo: 1))
    }

    static let tokenLists: [Probe] = [
        Probe("listStartTokensByAlias", "a page", .get("…/aliases/userId/t-1/start-tokens?limit=1"))
            .after(
                profile("t-1", "t-1"),
                token("t-1/start-tokens/Delivery", 150),
                token("t-1/start-tokens/Match", 151)
            )
            .gives(200, ["pushType": "liveactivity", "alias": ["kind": "userId", "value": "t-1"]]),
        Probe("listStartTokensByAlias", "of no kind", .get("…/aliases/7/x/start-tokens?limit=0&attributesType="))
            .fails(.invalidRequest),
        Probe("listStartTokensByAlias", "from nowhere", .get("…/aliases/userId/x/start-tokens?cursor=MTAw"))
            .fails(.invalidCursor),
        Probe("listDeviceTokensByAlias", "a page", .get("…/aliases/userId/t-2/device-tokens"))
            .after(profile("t-2", "t-2"), token("t-2/device-token", 152))
            .gives(200, ["pushType": "alert", "topic": "com.example.food"]),
        Probe("listDeviceTokensByAlias", "nothing", .get("…/aliases/userId/t-3/device-tokens"))
            .gives(200, ["tokens": []]),
        Probe("listDeviceTokensByAlias", "of no kind", .get("…/aliases/7/x/device-tokens"))
            .fails(.invalidRequest),
        Probe("listDeviceTokensByAlias", "from nowhere", .get("…/aliases/userId/x/device-tokens?cursor=MTAw"))
            .fails(.invalidCursor),
    ]

    private static func channel(_ alias: String, policy: JSONValue = 1) -> Message {
        .put(
            "…/aliases/matchId/\(alias)/channel",
            ["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": policy]
        )
    }

    static let channels: [Probe] = [
        Probe("putChannel", "a first one", channel("c-1"))
            .gives(201, ["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": 1]),
        Probe("putChannel", "again", channel("c-2", policy: 0))
            .after(channel("c-2"))
            .gives(200, ["messageStoragePolicy": 0]),
        Probe("putChannel", "in words", channel("c-3", policy: "none"))
            .fails(.invalidRequest),
        Probe("getChannel", "known", .get("…/aliases/matchId/c-4/channel"))
            .after(channel("c-4"))
            .gives(200, ["alias": ["kind": "matchId", "value": "c-4"]]),
        Probe("getChannel", "unknown", .get("…/aliases/matchId/c-5/channel"))
            .fails(.channelNotFound),
        Probe("getChannel", "of no kind", .get("…/aliases/7/x/channel"))
            .fails(.invalidRequest),
        Probe("deleteChannel", "unknown", .delete("…/aliases/matchId/c-6/channel"))
            .gives(204),
        Probe("deleteChannel", "of no kind", .delete("…/aliases/7/x/channel"))
            .fails(.invalidRequest),
        Probe("listActivitiesByAlias", "with a channel", .get("…/aliases/matchId/c-7/activities"))
            .after(channel("c-7"))
            .gives(200, ["channels": [["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": 1]]]),
    ]
}
