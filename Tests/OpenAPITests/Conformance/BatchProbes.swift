import RegistryCore
import TestSupport

extension Probe {
    private static func put(_ installation: String, _ minutes: Double, _ activities: JSONValue) -> Message {
        let body: JSONValue = [
            "observedAt": .minutesAgo(minutes), "installationId": .string(installation), "activities": activities,
        ]
        return .put("…/installations/\(installation)/activities", body)
    }

    private static func register(_ id: String, _ token: Int, of installation: String = "phone-6") -> Message {
        .activity(id, token, 2, ["installationId": .string(installation)])
    }

    private static let listed: JSONValue = [
        ["activityId": "state-1", "token": .token(58)], ["activityId": "state-2"], ["activityId": "state-3"],
    ]

    private static let repetitions: JSONValue = [
        ["token": "00"], ["activityId": "state-8", "token": .token(420)],
        ["activityId": "state-8", "token": .token(421)], ["activityId": "state-9", "token": .token(420)],
    ]

    static let fullStates: [Probe] = [
        Probe("putFullState", "listed and not", put("phone-6", 1, listed))
            .after(register("state-1", 57), register("state-4", 60), .delete("…/activities/state-3"))
            .gives([
                "ended": ["state-4"], "/results/0": ["activityId": "state-1", "outcome": "rotated"],
                "/results/1": ["activityId": "state-2", "outcome": "registered"], "/results/2/activityId": "state-3",
                "/results/2/problem/code": "activity-ended", "/results/3": .null,
            ]),
        Probe("putFullState", "of an installation named thrice", put("phone-24", 1, []).from("phone-24")).gives(200),
        Probe("putFullState", "of two installations", put("phone-7", 1, []).from("phone-8"))
            .fails(.invalidRequest).at("/installationId"),
        Probe("putFullState", "from the future", put("phone-7", -120, [])).fails(.clockSkew),
    ]

    /// These bodies violate the document's schema, but errors of items still get a response in position.
    static let malformedItems: [Probe] = [
        Probe("putFullState", "with repetitions", put("phone-23", 1, repetitions))
            .gives([
                "/results/1": ["activityId": "state-8", "outcome": "registered"],
                "/results/2/problem/errors/0/pointer": "/activities/2/activityId",
                "/results/3/problem/errors/0/pointer": "/activities/3/token",
            ]),
        Probe("getActivity", "listed twice", .get("…/activities/state-8")).gives(200, ["token": .token(420)]),
        Probe("putFullState", "of another push type", put("phone-94", 1, [["activityId": "s", "pushType": "token"]]))
            .gives([
                "/results/0/activityId": "s", "/results/0/problem/status": 422,
                "/results/0/problem/errors/0": [
                    "pointer": "/activities/0/pushType",
                    "detail": "must be \"channel\" or \"none\"; omit it for an activity that gets a token",
                ],
            ]),
        Probe("putFullState", "without ids", put("phone-9", 1, [["activityId": "state-5", "token": "xyz"], [:], 7]))
            .gives([
                "/results/0/activityId": "state-5", "/results/0/problem/code": "invalid-request",
                "/results/0/problem/errors/0/pointer": "/activities/0/token", "/results/1/activityId": .null,
                "/results/1/problem/status": 422, "/results/2/problem/errors/0/pointer": "/activities/2",
            ]),
        Probe("putFullState", "without token, so present", put("phone-22", 1, [["activityId": "state-6", "token": 5]]))
            .after(register("state-6", 422, of: "phone-22"), register("state-7", 423, of: "phone-22"))
            .gives(200, ["ended": ["state-7"]]),
        Probe("putFullState", "more than thirty days ahead, and so present", put("phone-25", 1, [farAhead]))
            .after(register("state-10", 424, of: "phone-25"))
            .gives(200, ["ended": [], "/results/0/problem/errors/0/pointer": "/activities/0/startsAt"]),
        Probe("reportFeedback", "with seconds, with zero, and with milliseconds", .report(times))
            .gives([
                "/results/0/problem/errors/0/detail": "timestamp is in milliseconds, as APNs sends it",
                "/results/1/problem/errors/0/pointer": "/reports/1/timestamp", "/results/2/action": "unknown",
            ]),
        Probe("resolveAliases", "of no kind", .post("…/resolve", ["aliases": [["kind": "7", "value": "x"], 7]]))
            .gives([
                "/results/0/problem/code": "invalid-request", "/results/0/problem/status": 422,
                "/results/0/problem/errors/0/pointer": "/aliases/0/kind",
                "/results/1/problem/errors/0/pointer": "/aliases/1",
            ]),
        Probe("reportFeedback", "that are none", .report([["token": "xyz", "status": 7], 7]))
            .gives([
                "/results/0/problem/errors/0/pointer": "/reports/0/token",
                "/results/0/problem/errors/1/pointer": "/reports/0/status", "/results/1/problem/status": 422,
            ]),
    ]

    private static let times: [JSONValue] = [1_795_248_000, 0, 1_795_248_000_000].map {
        ["token": "aa11bb23", "status": 410, "timestamp": $0]
    }
    private static let farAhead: JSONValue = ["activityId": "state-10", "startsAt": .minutesAgo(-30 * 1440 - 60)]
}
