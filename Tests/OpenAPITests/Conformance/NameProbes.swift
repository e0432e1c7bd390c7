import RegistryCore
import TestSupport

extension Probe {
    private static let path = "…/activities"

    private static let tooFarAhead: JSONObject = ["startsAt": .minutesAgo(-30 * 1440 - 60)]
    private static let moved: JSONObject = ["installationId": "phone-4", "aliases": ["orderId": "o-1"]]
    private static let ofUser: JSONObject = ["aliases": ["userId": "u-1"]]

    static let namedRegistrations: [Probe] = [
        Probe("registerActivityByAlias", "a first token", .named("match-1", 40))
            .gives(201, ["outcome": "registered", "state": "active"]),
        Probe("registerActivityByAlias", "another token", .named("match-2", 42, 1, moved))
            .after(.named("match-2", 41, 2, ["installationId": "phone-4"]))
            .gives(200, ["outcome": "rotated"]),
        Probe("registerActivityByAlias", "another token of the app", .named("match-12", 415))
            .after(.named("match-12", 414))
            .gives(200, ["outcome": "rotated"]),
        Probe("registerActivityByAlias", "a retired token", .named("match-3", 43))
            .after(.named("match-3", 43), .named("match-3", 44))
            .fails(.superseded),
        Probe("registerActivityByAlias", "observed before the end", .named("match-4", 46, 2))
            .after(.named("match-4", 45, 3), .delete(path + "?alias=match-4"))
            .fails(.activityEnded, ["state": "ended"]),
        Probe("registerActivityByAlias", "nine hours after the start", .named("match-5", 47, 1, Sample.startedLongAgo))
            .fails(.activityExpired, ["state": "expired"]),
        Probe("registerActivityByAlias", "without a name", .post(path, ["token": "no hex"]))
            .fails(.invalidRequest).at("/token", "/alias"),
        Probe("registerActivityByAlias", "too far ahead", .named("match-6", 48, nil, tooFarAhead))
            .fails(.clockSkew).at("/startsAt"),
        Probe("registerActivityByAlias", "from the future", .named("match-6", 48, -120)).fails(.clockSkew),
    ]

    private static func on(_ phone: Int) -> JSONObject { ["installationId": .string("phone-\(phone)")] }

    private static let client = TestKeys.shared.key(.client)

    static let forbidden: [Probe] = [
        Probe("registerActivity", "by a key for nobody", .activity("key-1", 90).with(client))
            .fails(.installationRequired),
        Probe("registerActivity", "of another user", .activity("key-1", 90, nil, ofUser).with(client).from("phone-9"))
            .fails(.aliasNotAllowed),
        Probe("registerActivityByAlias", "of another", .named("match-9", 91, nil, ofUser).with(client).from("phone-9"))
            .fails(.aliasNotAllowed),
        Probe("putInstallation", "of another", .put("…/installations/phone-9", .object(ofUser)).with(client))
            .fails(.aliasNotAllowed),
        Probe("registerActivityByAlias", "by a key for nobody", .named("match-9", 91).with(client))
            .fails(.installationRequired),
        Probe("registerActivity", "of a phone in the body", .activity("key-2", 92, nil, on(9)).with(client)).gives(201),
        Probe(
            "registerActivityByAlias",
            "with an alias for all",
            .named("match-13", 93, nil, forAll).with(client).from("phone-9")
        )
        .gives(201),
        // In a full state, only the item is refused.
        Probe(
            "putFullState",
            "of another user",
            .put("…/installations/phone-9/activities", aliasesOfItems).with(client)
        )
        .gives(["/results/0/problem/code": "alias-not-allowed", "/results/1/outcome": "registered"]),
        Probe("listActivitiesByAlias", "that nobody could set", .get("…/aliases/userId/u-20/activities"))
            .gives(200, ["activities": []]),
    ]

    private static let forAll: JSONObject = ["aliases": ["liveactivityId": "o-20"]]
    private static let aliasesOfItems: JSONValue = [
        "observedAt": .minutesAgo(0),
        "activities": [
            ["activityId": "key-3", "aliases": ["userId": "u-20"]],
            ["activityId": "key-4", "aliases": ["liveactivityId": "o-20"]],
        ],
    ]

    static let namedEnds: [Probe] = [
        Probe("endActivityByAlias", "never seen", .delete(path + "?alias=match-7")).gives(204),
        Probe("endActivityByAlias", "of a phone", .delete(path + "?alias=match-8&reason=dismissed").from("phone-5"))
            .after(.named("match-8", 49, 1, ["installationId": "phone-5"]))
            .gives(204),
        Probe("listActivitiesByAlias", "of two installations", .get("…/aliases/liveactivityId/match-10/activities"))
            .after(.named("match-10", 410, 1, on(31)), .named("match-10", 411, 1, on(32)))
            .gives(200, ["/activities/0/token": .token(410), "/activities/1/token": .token(411)]),
        Probe("listActivitiesByAlias", "ended at one of two", .get("…/aliases/liveactivityId/match-11/activities"))
            .after(
                .named("match-11", 412, 1, on(31)),
                .named("match-11", 413, 1, on(32)),
                .delete(path + "?alias=match-11").from("phone-31")
            )
            .gives(200, ["/activities/0/token": .token(413), "/activities/1": .null]),
        Probe("endActivityByAlias", "without a name", .delete(path)).fails(.invalidRequest),
        Probe("endActivityByAlias", "in the future", .delete(path + "?alias=x&observedAt=2999-01-01T00:00:00Z"))
            .fails(.clockSkew),
    ]
}
