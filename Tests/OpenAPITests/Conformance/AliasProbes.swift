import RegistryCore
import TestSupport

extension Probe {
    private static let pages = [
        ("listActivitiesByAlias", "activities"), ("listStartTokensByAlias", "start-tokens"),
        ("listDeviceTokensByAlias", "device-tokens"), ("listTokensOfKindByAlias", "tokens/widget"),
    ].flatMap { operation, list in
        [
            Probe(operation, "of no kind", .get("…/aliases/7/x/\(list)")).fails(.invalidRequest),
            Probe(operation, "from nowhere", .get("…/aliases/orderId/x/\(list)?cursor=MTAw")).fails(.invalidCursor),
        ]
    }

    static let lists: [Probe] =
        pages + [
            Probe("listActivitiesByAlias", "a page", .get("…/aliases/orderId/o-2/activities?limit=1"))
                .after(.activity("list-1", 50, order: "o-2"), .activity("list-2", 51, order: "o-2"))
                .gives([
                    "alias": ["kind": "orderId", "value": "o-2"], "pushType": "liveactivity", "channels": [],
                    "topic": "com.example.food.push-type.liveactivity", "/activities/0/activityId": "list-1",
                    "/activities/1": .null,
                ])
                .names("nextCursor"),
            Probe("listActivitiesByAlias", "nothing", .get("…/aliases/userId/nobody%2F%2B/activities"))
                .gives(200, ["activities": [], "channels": [], "alias": ["kind": "userId", "value": "nobody/+"]]),
            Probe("listActivitiesByAlias", "as lines", .lines("…/aliases/orderId/o-4/activities"))
                .after(.activity("list-3", 52, order: "o-4"))
                .gives([
                    "/0/alias/value": "o-4", "/1/activityId": "list-3", "/2": ["end": true, "count": 1], "/3": .null,
                ]),
            Probe("listActivitiesByAlias", "nothing as lines", .lines("…/aliases/orderId/o-3/activities"))
                .gives(200, ["/0/alias/value": "o-3", "/1": ["end": true, "count": 0], "/2": .null]),
            Probe("listActivitiesByAlias", "too many", .get("…/aliases/orderId/x/activities?limit=1001&cursor=x"))
                .fails(.invalidRequest).at("/limit", "/cursor"),
            Probe("listActivitiesByAlias", "from an empty cursor", .get("…/aliases/orderId/x/activities?cursor="))
                .fails(.invalidCursor).at("/cursor"),
            Probe("endActivitiesByAlias", "two", .delete("…/aliases/orderId/o-5/activities"))
                .after(.activity("end-1", 53, order: "o-5"), .activity("end-2", 54, order: "o-5"))
                .gives(200, ["ended": 2]),
            Probe("endActivitiesByAlias", "none", .delete("…/aliases/orderId/o-8/activities")).gives(200, ["ended": 0]),
            Probe("endActivitiesByAlias", "of no kind", .delete("…/aliases/7/x/activities")).fails(.invalidRequest),
        ]

    static let resolutions: [Probe] = [
        Probe("resolveAliases", "found and not", .post("…/resolve", foundAndNot))
            .after(.activity("resolve-1", 55, order: "o-6"), .activity("resolve-2", 56, order: "o-6"))
            .gives([
                "/results/0/activities/0/token": .token(55), "/results/0/activities/1": .null,
                "/results/0/truncated": true, "/results/1/alias/value": "o-7", "/results/1/activities": [],
                "/results/1/channels": [], "/results/1/truncated": false, "/results/2": .null,
            ]),
        Probe("resolveAliases", "nothing", .post("…/resolve", ["aliases": []])).gives(200, ["results": []]),
        Probe("resolveAliases", "without aliases", .post("…/resolve", ["limitPerAlias": 0])).fails(.invalidRequest),
    ]

    private static let foundAndNot: JSONValue = [
        "aliases": [["kind": "orderId", "value": "o-6"], ["kind": "orderId", "value": "o-7"]], "limitPerAlias": 1,
    ]
}
