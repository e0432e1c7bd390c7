import RegistryCore

extension Probe {
    private static let path = "…/activities"

    private static func post(
        _ alias: String,
        _ token: Int,
        _ minutes: Double? = nil,
        _ more: JSONObject = [:]
    ) -> Message {
        var body = more
        body["alias"] = .string(alias)
        return .post(path, Sample.registration(token, minutesAgo: minutes, body))
    }

    private static let tooFarAhead: JSONObject = ["startsAt": Sample.minutesAgo(-30 * 1440 - 60)]
    private static let moved: JSONObject = ["installationId": "phone-4", "aliases": ["orderId": "o-1"]]
    private static let ofUser: JSONObject = ["aliases": ["userId": "u-1"]]

    static let namedRegistrations: [Probe] = [
        Probe("registerActivityByAlias", "a first token", post("match-1", 40))
            .gives(201, ["outcome": "registered", "state": "active"]),
        Probe("registerActivityByAlias", "another token", post("match-2", 42, 1, moved))
            .after(post("match-2", 41, 2, ["installationId": "phone-4"]))
            .gives(200, ["outcome": "rotated"]),
        Probe("registerActivityByAlias", "another token of the app", post("match-12", 415))
            .after(post("match-12", 414))
            .gives(200, ["outcome": "rotated"]),
        Probe("registerActivityByAlias", "a retired token", post("match-3", 43))
            .after(post("match-3", 43), post("match-3", 44))
            .fails(.superseded),
        Probe("registerActivityByAlias", "observed before the end", post("match-4", 46, 2))
            .after(post("match-4", 45, 3), .delete(path + "?alias=match-4"))
            .fails(.activityEnded, ["state": "ended"]),
        Probe("registerActivityByAlias", "nine hours after the start", post("match-5", 47, 1, Sample.startedLongAgo))
            .fails(.activityExpired, ["state": "expired"]),
        Probe("registerActivityByAlias", "without a name", .post(path, ["token": "no hex"]))
            .fails(.invalidRequest).at("/token", "/alias"),
        Probe("registerActivityByAlias", "too far ahead", post("match-6", 48, nil, tooFarAhead))
            .fails(.clockSkew).at("/startsAt"),
        Probe("registerActivityByAlias", "from the future", post("match-6", 48, -10)).fails(.clockSkew),
    ]

    private static func on(_ phone: Int) -> JSONObject { ["installationId": .string("phone-\(phone)")] }

    private static let client = TestKeys.shared.key(.client)

    static let forbidden: [Probe] = [
        Probe("registerActivity", "by a key for nobody", .put(path + "/key-1", Sample.registration(90)).with(client))
            .fails(.installationRequired),
        Probe(
            "registerActivity",
            "of another user",
            .put(path + "/key-1", Sample.registration(90, minutesAgo: nil, ofUser))
                .with(client).from("phone-9")
        )
        .fails(.aliasNotAllowed),
        Probe("registerActivityByAlias", "of another", post("match-9", 91, nil, ofUser).with(client).from("phone-9"))
            .fails(.aliasNotAllowed),
        Probe("putInstallation", "of another", .put("…/installations/phone-9", .object(ofUser)).with(client))
            .fails(.aliasNotAllowed),
        Probe("registerActivityByAlias", "by a key for nobody", post("match-9", 91).with(client))
            .fails(.installationRequired),
        Probe(
            "registerActivity",
            "by a key, the installation being in the body",
            .put(path + "/key-2", Sample.registration(92, minutesAgo: nil, ["installationId": "phone-9"])).with(client)
        )
        .gives(201),
        Probe(
            "registerActivityByAlias",
            "by a key, with an alias for all",
            post("match-13", 93, nil, ["aliases": ["liveactivityId": "o-20"]]).with(client).from("phone-9")
        )
        .gives(201),
        // In a full state, only the item is refused.
        Probe(
            "putFullState",
            "with aliases of another user",
            .put(
                "…/installations/phone-9/activities",
                [
                    "observedAt": Sample.minutesAgo(0),
                    "activities": [
                        ["activityId": "key-3", "aliases": ["userId": "u-20"]],
                        ["activityId": "key-4", "aliases": ["liveactivityId": "o-20"]],
                    ],
                ]
            )
            .with(client)
        )
        .gives(["/results/0/problem/code": "alias-not-allowed", "/results/1/outcome": "registered"]),
        Probe("listActivitiesByAlias", "that nobody could set", .get("…/aliases/userId/u-20/activities"))
            .gives(200, ["activities": []]),
    ]

    static let namedEnds: [Probe] = [
        Probe("endActivityByAlias", "never seen", .delete(path + "?alias=match-7")).gives(204),
        Probe("endActivityByAlias", "of a phone", .delete(path + "?alias=match-8&reason=dismissed").from("phone-5"))
            .after(post("match-8", 49, 1, ["installationId": "phone-5"]))
            .gives(204),
        Probe("listActivitiesByAlias", "of two installations", .get("…/aliases/liveactivityId/match-10/activities"))
            .after(post("match-10", 410, 1, on(31)), post("match-10", 411, 1, on(32)))
            .gives(200, ["/activities/0/token": Sample.token(410), "/activities/1/token": Sample.token(411)]),
        Probe("listActivitiesByAlias", "ended at one of two", .get("…/aliases/liveactivityId/match-11/activities"))
            .after(
                post("match-11", 412, 1, on(31)),
                post("match-11", 413, 1, on(32)),
                .delete(path + "?alias=match-11").from("phone-31")
            )
            .gives(200, ["/activities/0/token": Sample.token(413), "/activities/1": .null]),
        Probe("endActivityByAlias", "without a name", .delete(path)).fails(.invalidRequest),
        Probe("endActivityByAlias", "in the future", .delete(path + "?alias=x&observedAt=2999-01-01T00:00:00Z"))
            .fails(.clockSkew),
    ]
}
