import Foundation
import RegistryCore
import TestSupport

extension Probe {
    private static let path = "…/activities/"

    private static func nothingRuns(on installation: String) -> Message {
        .put("…/installations/\(installation)/activities", ["observedAt": .minutesAgo(2), "activities": []])
    }

    private static func runs(_ id: String, _ type: JSONValue, on installation: String, _ minutes: Double = 2) -> Message
    {
        let item: JSONValue = ["activityId": .string(id), "pushType": type]
        let body: JSONValue = ["observedAt": .minutesAgo(minutes), "activities": [item]]
        return .put("…/installations/\(installation)/activities", body)
    }

    private static let everything: JSONObject = [
        "startedAt": .minutesAgo(5), "startsAt": .minutesAgo(-5), "installationId": "phone-1",
        "attributesType": "DeliveryAttributes", "aliases": ["liveactivityId": "order-1", "userId": ["u-1", "u-2"]],
        "frequentPushesEnabled": true, "metadata": ["appVersion": "7.4.1"],
    ]

    private static let aMinuteAgo = JSONValue.minutesAgo(1)
    private static let thirtyDaysAhead: JSONObject = ["startsAt": .minutesAgo(-30 * 1440 + 1)]
    /// One day more than the limit, because a slow machine sends this minutes later.
    private static let tooFarAhead: JSONObject = ["startsAt": .minutesAgo(-31 * 1440)]

    private static let onPhone: JSONObject = ["installationId": "phone-1"]

    private static let nulls: JSONObject = [
        "observedAt": .null, "startedAt": .null, "startsAt": .null, "installationId": .null, "attributesType": .null,
        "aliases": .null, "frequentPushesEnabled": .null, "pushType": .null, "metadata": .null,
    ]

    static let registrations: [Probe] = [
        Probe("registerActivity", "a first token", .activity("first", 1, 1, everything))
            .gives(201, ["activityId": "first", "outcome": "registered", "state": "active", "revision": 1])
            .names("confirmedAt", "expiresAt"),
        Probe("registerActivity", "nulls", .activity("nulls", 2, nil, nulls)).gives(201, ["outcome": "registered"]),
        Probe("registerActivity", "another token", .activity("rotated", 4, 1))
            .after(.activity("rotated", 3, 2))
            .gives(200, ["outcome": "rotated"]),
        Probe("registerActivity", "the same token", .activity("refreshed", 5, 1))
            .after(.activity("refreshed", 5, 1))
            .gives(200, ["outcome": "refreshed"]),
        Probe("registerActivity", "of a dismissed activity", .activity("back", 6, 1, ["installationId": "phone-2"]))
            .after(.activity("back", 6, 3, ["installationId": "phone-2"]), nothingRuns(on: "phone-2"))
            .gives(200, ["outcome": "reactivated"]),
        Probe("registerActivity", "of a phone named twice", .activity("agreed", 400, 1, onPhone).from("phone-1")).gives(
            201
        ),
        Probe("registerActivity", "thirty days ahead", .activity("ahead", 401, 1, thirtyDaysAhead)).gives(201),
    ]

    static let refusedRegistrations: [Probe] = [
        Probe("registerActivity", "observed before the current one", .activity("older", 8, 2))
            .after(.put(path + "older", ["token": .token(7), "observedAt": aMinuteAgo]))
            .fails(.superseded, ["activityId": "older", "reason": "rotated", "observedAt": aMinuteAgo]),
        Probe("registerActivity", "of a token that another took over", .activity("robbed", 9, 2))
            .after(.activity("owner", 9, 1))
            .fails(.superseded, ["reason": "taken-over"]),
        Probe("registerActivity", "after the end", .activity("over", 11, 0))
            .after(.activity("over", 10, 1), .delete(path + "over"))
            .fails(.activityEnded, ["activityId": "over", "state": "ended", "reason": "ended"])
            .names("endedAt", "serverTime"),
        Probe("registerActivity", "nine hours after the start", .activity("old", 12, 0, Sample.startedLongAgo))
            .fails(.activityExpired, ["state": "expired", "reason": "expired"]),
        Probe("registerActivity", "without a token", .put(path + "x", ["aliases": ["1": [7]]])).fails(.invalidRequest),
        Probe("registerActivity", "with a long id", .activity(Sample.longID, 13)).fails(.invalidRequest),
        Probe("registerActivity", "of two phones", .activity("x", 13, 1, onPhone).from("phone-2"))
            .fails(.invalidRequest).at("/installationId"),
        Probe("registerActivity", "more than thirty days ahead", .activity("x", 13, 1, tooFarAhead))
            .fails(.clockSkew).at("/startsAt"),
        Probe("registerActivity", "from the future", .activity("x", 13, -120)).fails(.clockSkew),
    ]

    static let reads: [Probe] = [
        Probe("getActivity", "with a token", .get(path + "read%2F1"))
            .after(.activity("read%2F1", 20, 1, everything))
            .gives([
                "activityId": "read/1", "state": "active", "token": .token(20), "environment": "sandbox",
                "topic": "com.example.food.push-type.liveactivity", "pushType": "liveactivity",
                "attributesType": "DeliveryAttributes", "frequentPushesEnabled": true,
                "startedAt": everything["startedAt"] ?? .null, "startsAt": everything["startsAt"] ?? .null,
                "installation": .string(Sample.hash("phone-1")),
            ]),
        Probe("getActivity", "ended", .get(path + "ended"))
            .after(.activity("ended", 403), .delete(path + "ended?reason=dismissed"))
            .gives(200, ["state": "ended", "reason": "dismissed", "token": .null]),
        Probe("getActivity", "ended before it was ever seen", .get(path + "tombstone"))
            .after(.delete(path + "tombstone?reason=dismissed"))
            .gives(200, ["state": "ended", "reason": "dismissed"]),
        Probe("getActivity", "dismissed", .get(path + "away"))
            .after(.activity("away", 21, 3, ["installationId": "phone-3"]), nothingRuns(on: "phone-3"))
            .gives(200, ["state": "dismissed"]),
        Probe("getActivity", "without a token any more", .get(path + "taken"))
            .after(.activity("taken", 22, 2), .activity("taker", 22, 1))
            .gives(200, ["state": "active", "reason": "taken-over"]),
        Probe("getActivity", "without a token by design", .get(path + "silent"))
            .after(runs("silent", "none", on: "phone-91"))
            .gives(200, ["state": "active", "reason": "no-push", "pushType": "liveactivity", "token": .null]),
        Probe("getActivity", "of a channel", .get(path + "followed"))
            .after(
                runs("followed", .null, on: "phone-92", 3),
                runs("followed", "channel", on: "phone-92"),
                runs("followed", "none", on: "phone-92", 1)
            )
            .gives(200, ["state": "active", "reason": "channel"]),
        Probe("getActivity", "with a token all the same", .get(path + "silent-2"))
            .after(
                runs("silent-2", "none", on: "phone-93"),
                .activity("silent-2", 405, 1, ["installationId": "phone-93"])
            )
            .gives(200, ["state": "active", "reason": .null, "token": .token(405)]),
        Probe("getActivity", "never seen", .get(path + "never")).fails(.activityNotFound),
        Probe("getActivity", "with a long id", .get(path + Sample.longID)).fails(.invalidRequest),
    ]

    static let ends: [Probe] = [
        Probe("endActivity", "never seen", .delete(path + "unseen")).gives(204),
        Probe("endActivity", "with a type", .delete(path + "x").with("Content-Type", "application/json")).gives(204),
        Probe("endActivity", "with its time", .delete(path + "done?reason=dismissed&observedAt=2026-01-01T00:00:00Z"))
            .after(.activity("done", 23))
            .gives(204),
        Probe("endActivity", "twice", .delete(path + "twice"))
            .after(.activity("twice", 404), .delete(path + "twice"))
            .gives(204),
        Probe("endActivity", "for no reason", .delete(path + "x?reason=boredom")).fails(.invalidRequest),
        Probe("endActivity", "in the future", .delete(path + "x?observedAt=2999-01-01T00:00:00Z")).fails(.clockSkew),
    ]

    private static let opening = Date.minutesAgo(-600)
    private static let opens = JSONValue.string(RFC3339.format(opening))
    private static let closes = JSONValue.string(RFC3339.format(opening.addingTimeInterval(8 * 3600)))
    private static let scheduled = Message.activity(
        "scheduled",
        405,
        1,
        ["startsAt": opens, "aliases": ["orderId": "opening"]]
    )

    /// An activity that starts in ten hours lives for eight hours from its start.
    static let scheduledActivities: [Probe] = [
        Probe("registerActivity", "ten hours ahead", scheduled).gives(201, ["expiresAt": closes]),
        Probe("getActivity", "scheduled", .get(path + "scheduled")).gives(200, ["startsAt": opens]),
        Probe("listActivitiesByAlias", "scheduled", .get("…/aliases/orderId/opening/activities"))
            .gives(200, ["/activities/0/startsAt": opens]),
        Probe("resolveAliases", "scheduled", .resolve("orderId", "opening"))
            .gives(200, ["/results/0/activities/0/startsAt": opens]),
        Probe("explainAlias", "scheduled", .get("…/audit/explain?kind=orderId&value=opening"))
            .gives(200, ["/activities/0/startsAt": opens]),
    ]
}
