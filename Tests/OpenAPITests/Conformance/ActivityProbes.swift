import RegistryCore

extension Probe {
    private static let path = "…/activities/"

    private static func put(_ id: String, _ token: Int, _ minutes: Double? = nil, _ more: JSONObject = [:]) -> Message {
        .put(path + id, Sample.registration(token, minutesAgo: minutes, more))
    }

    private static func nothingRuns(on installation: String) -> Message {
        .put(
            "…/installations/\(installation)/activities",
            ["observedAt": Sample.minutesAgo(2), "activities": []]
        )
    }

    private static let everything: JSONObject = [
        "startedAt": Sample.minutesAgo(5), "startsAt": Sample.minutesAgo(-5), "installationId": "phone-1",
        "attributesType": "DeliveryAttributes",
        "aliases": ["liveactivityId": "order-1", "userId": ["u-1", "u-2"]], "frequentPushesEnabled": true,
        "metadata": ["appVersion": "7.4.1"],
    ]

    private static let nulls: JSONObject = [
        "observedAt": .null, "startedAt": .null, "startsAt": .null, "installationId": .null, "attributesType": .null,
        "aliases": .null, "frequentPushesEnabled": .null, "metadata": .null,
    ]

    static let registrations: [Probe] = [
        Probe("registerActivity", "a first token", put("first", 1, 1, everything))
            .gives(201, ["activityId": "first", "outcome": "registered", "state": "active"]),
        Probe("registerActivity", "nulls", put("nulls", 2, nil, nulls))
            .gives(201, ["outcome": "registered"]),
        Probe("registerActivity", "another token", put("rotated", 4, 1))
            .after(put("rotated", 3, 2))
            .gives(200, ["outcome": "rotated"]),
        Probe("registerActivity", "the same token", put("refreshed", 5, 1))
            .after(put("refreshed", 5, 1))
            .gives(200, ["outcome": "refreshed"]),
        Probe("registerActivity", "of a dismissed activity", put("back", 6, 1, ["installationId": "phone-2"]))
            .after(put("back", 6, 3, ["installationId": "phone-2"]), nothingRuns(on: "phone-2"))
            .gives(200, ["outcome": "reactivated"]),
    ]

    static let refusedRegistrations: [Probe] = [
        Probe("registerActivity", "observed before the current one", put("older", 8, 2))
            .after(put("older", 7, 1))
            .fails(.superseded, ["activityId": "older", "reason": "rotated", "state": "active"]),
        Probe("registerActivity", "of a token that another took over", put("robbed", 9, 2))
            .after(put("owner", 9, 1))
            .fails(.superseded, ["reason": "taken-over"]),
        Probe("registerActivity", "after the end", put("over", 11, 0))
            .after(put("over", 10, 1), .delete(path + "over"))
            .fails(.activityEnded, ["activityId": "over", "state": "ended", "reason": "ended"]),
        Probe("registerActivity", "nine hours after the start", put("old", 12, 0, Sample.startedLongAgo))
            .fails(.activityExpired, ["state": "expired", "reason": "expired"]),
        Probe("registerActivity", "without a token", .put(path + "x", ["aliases": ["1": [7]]]))
            .fails(.invalidRequest),
        Probe("registerActivity", "with a long id", put(Sample.longID, 13))
            .fails(.invalidRequest),
        Probe(
            "registerActivity",
            "for two installations",
            put("x", 13, 1, ["installationId": "phone-1"]).with("X-Installation-Id", "phone-2")
        )
        .fails(.invalidRequest),
        Probe("registerActivity", "from the future", put("x", 13, -10))
            .fails(.clockSkew),
    ]

    static let reads: [Probe] = [
        Probe("getActivity", "with a token", .get(path + "read"))
            .after(put("read", 20, 1, everything))
            .gives(200, ["state": "active", "token": Sample.token(20), "environment": "sandbox"]),
        Probe("getActivity", "ended before it was ever seen", .get(path + "tombstone"))
            .after(.delete(path + "tombstone?reason=dismissed"))
            .gives(200, ["state": "ended", "reason": "dismissed"]),
        Probe("getActivity", "dismissed", .get(path + "away"))
            .after(put("away", 21, 3, ["installationId": "phone-3"]), nothingRuns(on: "phone-3"))
            .gives(200, ["state": "dismissed"]),
        Probe("getActivity", "without a token any more", .get(path + "taken"))
            .after(put("taken", 22, 2), put("taker", 22, 1))
            .gives(200, ["state": "active", "reason": "taken-over"]),
        Probe("getActivity", "never seen", .get(path + "never"))
            .fails(.activityNotFound),
        Probe("getActivity", "with a long id", .get(path + Sample.longID))
            .fails(.invalidRequest),
    ]

    static let ends: [Probe] = [
        Probe("endActivity", "never seen", .delete(path + "unseen"))
            .gives(204),
        Probe("endActivity", "with its time", .delete(path + "done?reason=dismissed&observedAt=2026-01-01T00:00:00Z"))
            .after(put("done", 23))
            .gives(204),
        Probe("endActivity", "for no reason", .delete(path + "x?reason=boredom"))
            .fails(.invalidRequest),
        Probe("endActivity", "in the future", .delete(path + "x?observedAt=2999-01-01T00:00:00Z"))
            .fails(.clockSkew),
    ]
}
