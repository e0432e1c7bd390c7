import RegistryCore

extension Probe {
    private static func put(_ id: String, _ token: Int, alias: String) -> Message {
        .put("…/activities/" + id, Sample.registration(token, minutesAgo: 1, ["aliases": ["orderId": .string(alias)]]))
    }

    static let lists: [Probe] = [
        Probe("listActivitiesByAlias", "a page", .get("…/aliases/orderId/o-2/activities?limit=1"))
            .after(put("list-1", 50, alias: "o-2"), put("list-2", 51, alias: "o-2"))
            .gives(200, ["alias": ["kind": "orderId", "value": "o-2"], "pushType": "liveactivity", "channels": []]),
        Probe("listActivitiesByAlias", "nothing", .get("…/aliases/orderId/o-3/activities"))
            .gives(200, ["activities": []]),
        Probe(
            "listActivitiesByAlias",
            "as lines",
            .get("…/aliases/orderId/o-4/activities").with("Accept", "application/x-ndjson")
        )
        .after(put("list-3", 52, alias: "o-4"))
        .gives(200),
        Probe("listActivitiesByAlias", "too many", .get("…/aliases/orderId/x/activities?limit=1001"))
            .fails(.invalidRequest),
        Probe("listActivitiesByAlias", "of no kind", .get("…/aliases/7/x/activities"))
            .fails(.invalidRequest),
        Probe("listActivitiesByAlias", "from nowhere", .get("…/aliases/orderId/x/activities?cursor=MTAw"))
            .fails(.invalidCursor),
        Probe("endActivitiesByAlias", "two", .delete("…/aliases/orderId/o-5/activities"))
            .after(put("end-1", 53, alias: "o-5"), put("end-2", 54, alias: "o-5"))
            .gives(200, ["ended": 2]),
        Probe("endActivitiesByAlias", "of no kind", .delete("…/aliases/7/x/activities"))
            .fails(.invalidRequest),
    ]

    static let resolutions: [Probe] = [
        Probe("resolveAliases", "found and not", .post("…/resolve", foundAndNot))
            .after(put("resolve-1", 55, alias: "o-6"), put("resolve-2", 56, alias: "o-6"))
            .gives(200),
        Probe("resolveAliases", "nothing", .post("…/resolve", ["aliases": []]))
            .gives(200, ["results": []]),
        Probe("resolveAliases", "without aliases", .post("…/resolve", ["limitPerAlias": 0]))
            .fails(.invalidRequest),
    ]

    private static let foundAndNot: JSONValue = [
        "aliases": [["kind": "orderId", "value": "o-6"], ["kind": "orderId", "value": "o-7"]], "limitPerAlias": 1,
    ]
}
