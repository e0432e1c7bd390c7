import RegistryCore

extension Probe {
    private static let path = "/v1/apps/"
    private static let own = path + Message.bundleID

    private static let settings: JSONValue = [
        "name": "Food", "activityLifetime": "PT4H", "tombstoneRetention": "P3D", "eventRetention": "P30D",
        "aliasRules": ["orderId": "backend", "userId": "any"],
        "jwt": [
            "issuer": "https://login.example.com", "audience": ["food", "drink"],
            "jwksUrl": "https://login.example.com/jwks.json",
        ],
    ]

    private static let defaults: JSONObject = [
        "bundleId": "com.example.new", "activityLifetime": "PT8H", "tombstoneRetention": "P7D",
        "eventRetention": "P90D", "jwt": .null,
    ]
    private static let kinds: JSONValue = [
        "card": ["topicSuffix": ".card", "pushType": "card", "per": "attributes-type"]
    ]

    static let apps: [Probe] = [
        Probe("listApps", "all", .get("/v1/apps")).gives(200),
        Probe("putApp", "with a kind of tokens", .put(path + "com.example.kinds", ["tokenKinds": kinds]))
            .gives(201, ["/tokenKinds/card/per": "attributes-type"]),
        Probe("putApp", "a new one", .put(path + "com.example.new", [:]))
            .gives(201, defaults),
        Probe("putApp", "with all settings", .put(path + "com.example.full", settings))
            .after(.put(path + "com.example.full", [:]))
            .gives(200, settings.members),
        Probe("putApp", "with a name, the rest being kept", .put(path + "com.example.kept", ["name": "Kept"]))
            .after(.put(path + "com.example.kept", settings))
            .gives(200, ["name": "Kept", "activityLifetime": "PT4H", "jwt": settings["jwt"] ?? .null]),
        Probe("putApp", "without JWTs again", .put(path + "com.example.kept", ["jwt": [:]]))
            .after(.put(path + "com.example.kept", settings))
            .gives(200, ["jwt": .null]),
        // The store compares this retention with the stored lifetime.
        Probe("putApp", "that forgets early", .put(path + "com.example.early", ["tombstoneRetention": "PT1H"]))
            .after(.put(path + "com.example.early", [:]))
            .fails(.invalidRequest).at("/tombstoneRetention"),
        Probe("putApp", "without a bundle id", .put(path + "com_example", ["name": ""])).fails(.invalidRequest),
        Probe("getApp", "with all settings", .get(path + "com.example.read"))
            .after(.put(path + "com.example.read", settings))
            .gives(200, settings.members)
            .names("quarantineGuards", "updatedAt"),
        Probe("getApp", "unknown", .get(path + "com.example.none")).fails(.unknownApp),
        Probe("deleteApp", "with what it holds", .delete(path + "com.example.gone"))
            .after(
                .put(path + "com.example.gone", [:]),
                .put(path + "com.example.gone/sandbox/activities/x", Sample.registration(80))
            )
            .gives(204),
        Probe("putApp", "by a client", .put(own, [:]).with(TestKeys.shared.key(.client))).fails(.forbidden),
        Probe("getApp", "by a client", .get(own).with(TestKeys.shared.key(.client))).fails(.forbidden),
        Probe("deleteApp", "by its admin", .delete(own).with(TestKeys.shared.key(.admin))).fails(.forbidden),
        Probe("deleteApp", "unknown", .delete(path + "com.example.none")).fails(.unknownApp),
    ]

    private static let keys = own + "/keys"

    static let apiKeys: [Probe] = [
        Probe("createKey", "that expires", .post(keys, ["role": "sender", "name": "Push", "expiresIn": "P90D"]))
            .gives(201, ["role": "sender", "app": .string(Message.bundleID), "name": "Push"]),
        Probe("createKey", "of an admin", .post(keys, ["role": "client"]).with(TestKeys.shared.key(.admin)))
            .gives(201, ["role": "client"]),
        Probe("createKey", "of root", .post(keys, ["role": "root"])).fails(.invalidRequest).at("/role"),
        Probe("createKey", "of a king without a name", .post(keys, ["role": "king", "name": ""]))
            .fails(.invalidRequest).at("/role", "/name"),
        Probe("createKey", "for no time", .post(keys, ["role": "client", "expiresIn": "PT0S"]))
            .fails(.invalidRequest).at("/expiresIn"),
        Probe("createKey", "for a year", .post(keys, ["role": "client", "expiresIn": "P1Y"]))
            .fails(.invalidRequest).at("/expiresIn"),
        Probe("createKey", "of the past", .post(keys, ["role": "client", "expiresAt": "2001-01-01T00:00:00Z"]))
            .fails(.invalidRequest).at("/expiresAt"),
        Probe("listKeys", "of all roles", .get(keys)).gives(200),
        Probe("revokeKey", "that is valid", .delete(keys + "/" + TestKeys.shared.key(.sender).id.rawValue)).gives(204),
        Probe("revokeKey", "that nobody knows", .delete(keys + "/prs_000000000000")).fails(.keyNotFound),
    ]

    static let service: [Probe] = [
        Probe("getLiveness", "alive", .get("/livez")).gives(200, ["status": "ok"]),
        Probe("getLiveness", "with its version", .get("/livez?verbose"))
            .gives(200, ["status": "ok", "version": "unknown"]),
        Probe("getReadiness", "ready", .get("/readyz")).gives(200, ["status": "ok"]),
        Probe("getReadiness", "in words", .get("/readyz?verbose"))
            .gives(200, ["/checks/postgres/status": "ok", "/checks/schema/status": "ok"]),
        Probe("getReadiness", "in words for nobody", .get("/readyz?verbose").with("Authorization", "Bearer nonsense"))
            .fails(.unauthenticated),
        Probe("getReadiness", "in words for a client", .get("/readyz?verbose").with(TestKeys.shared.key(.client)))
            .fails(.forbidden),
        Probe("getMetrics", "by an auditor", .get("/metrics").with(TestKeys.shared.key(.auditor))).gives(200),
        Probe("getMetrics", "by a client", .get("/metrics").with(TestKeys.shared.key(.client))).fails(.forbidden),
        Probe("getOpenAPI", "the document", .get("/openapi.json")).gives(200, ["openapi": "3.1.0"]),
    ]

    static var specific: [Probe] {
        [
            registrations, refusedRegistrations, reads, ends, namedRegistrations, namedEnds, lists, resolutions,
            feedback, plans, fullStates, malformedItems, installations, slots, tokenLists, channels, refusedChannels,
            ofOthers, audit, scheduledActivities, apps, apiKeys, forbidden, service, excluded, erased, paths,
        ].flatMap { $0 }
    }
}
