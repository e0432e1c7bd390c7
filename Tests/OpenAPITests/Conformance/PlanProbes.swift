import RegistryCore
import TestSupport

extension Probe {
    private static func plan(_ order: String, to user: String, _ more: JSONObject = [:]) -> Message {
        var body: JSONObject = [
            "alias": ["kind": "orderId", "value": .string(order)],
            "to": [["kind": "orderId", "value": .string(user)]], "attributesType": "Order",
        ]
        for member in more { body[member.key] = member.value }
        return .post("…/plan", .object(body))
    }

    private static func phone(_ id: String, _ user: String, metadata: JSONValue = .null) -> Message {
        .put("…/installations/\(id)", ["aliases": ["orderId": .string(user)], "metadata": metadata])
    }

    private static func startToken(_ id: String, _ token: Int) -> Message { .token(id + "/start-tokens/Order", token) }

    private static func activity(
        _ order: String,
        _ token: Int,
        of phone: String = "phone-72",
        _ more: JSONObject = [:]
    ) -> Message {
        var named: JSONObject = ["installationId": .string(phone), "aliases": ["orderId": .string(order)]]
        for member in more { named[member.key] = member.value }
        return .activity(order, token, nil, named)
    }

    /// The members of the first installation of a plan.
    private static func entry(_ members: JSONObject) -> JSONObject {
        JSONObject(members.map { ("/installations/0/" + $0.key, $0.value) })
    }

    private static let everyFault: JSONValue = [
        "alias": ["kind": "7", "value": ""], "to": [["kind": "userId"], 7], "attributesType": 7,
        "lease": "PT59S", "maxStartTokenAge": "P1Y", "restartDismissed": "no", "renewBefore": 30, "planId": "",
        "limit": 1001, "cursor": 7,
    ]
    private static let planned12 = "…/aliases/orderId/planned-12"
    private static let everyPointer = [
        "/alias/kind", "/alias/value", "/to/0/value", "/to/1", "/attributesType", "/lease", "/maxStartTokenAge",
        "/restartDismissed", "/renewBefore", "/planId", "/limit", "/cursor",
    ]
    private static let channel: JSONValue = ["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": 1]
    private static let channelPlan: JSONValue = [
        "alias": ["kind": "orderId", "value": "planned-12"], "attributesType": "Order",
    ]
    private static let silentState: JSONValue = [
        "observedAt": .minutesAgo(1),
        "activities": [["activityId": "p-13", "aliases": ["orderId": "p-13"], "pushType": "none"]],
    ]
    private static let manyUsers = JSONValue.array(.init(repeating: ["kind": "userId", "value": "u-7"], count: 101))

    private static let refused: [(String, JSONValue)] = [
        ("renewBefore", "PT59S"), ("renewBefore", "PT4H1S"), ("lease", "PT8H1S"), ("to", manyUsers), ("to", 7),
        ("attributesType", .null), ("cursor", "MTAw"), ("cursor", ""),
    ]
    private static let refusedPlans = refused.map { member, value in
        Probe("makePlan", "with the \(member) \(value)", plan("p-8", to: "nobody", [member: value]))
            .fails(member == "cursor" ? .invalidCursor : .invalidRequest).at("/\(member)")
    }

    static let plans: [Probe] =
        refusedPlans + [
            Probe("makePlan", "to start", plan("p-1", to: "planned-1", ["lease": "PT5M", "planId": "plan-1"]))
                .after(phone("phone-71", "planned-1"), startToken("phone-71", 171))
                .gives(
                    entry(["action": "start", "token": .token(171), "attempt": 1]).overlaid(by: [
                        "pushType": "liveactivity", "channels": [], "topic": "com.example.food.push-type.liveactivity",
                    ])
                ),
            Probe("makePlan", "to wait", plan("p-2", to: "planned-1"))
                .after(plan("p-2", to: "planned-1"))
                .gives(entry(["action": "wait", "reason": "leased", "token": .null])),
            Probe("makePlan", "to update", plan("p-3", to: "nobody"))
                .after(activity("p-3", 172))
                .gives(entry(["action": "update", "token": .token(172), "activityId": "p-3"])),
            Probe("makePlan", "to renew", plan("p-11", to: "planned-11", ["renewBefore": "PT4H", "planId": "p-11"]))
                .after(
                    phone("phone-81", "planned-11"),
                    startToken("phone-81", 581),
                    activity("p-11", 582, of: "phone-81", ["startedAt": .minutesAgo(300)])
                )
                .gives(
                    entry([
                        "action": "renew", "token": .token(581), "replaces/activityId": "p-11",
                        "replaces/token": .token(582),
                    ])
                ),
            Probe("makePlan", "to start by channel", .post("…/plan?include=metadata", channelPlan))
                .after(
                    phone("phone-82", "planned-12", metadata: ["osVersion": "18.0"]),
                    startToken("phone-82", 583),
                    .put(planned12 + "/channel", channel)
                )
                .gives(
                    entry([
                        "action": "start", "channelId": "dHN0LXNyY2gtY2hubA==",
                        "installationMetadata/osVersion": "18.0",
                    ])
                ),
            Probe("listStartTokensByAlias", "with metadata", .get(planned12 + "/start-tokens?include=metadata"))
                .gives(["/tokens/0/installationMetadata/osVersion": "18.0"]),
            Probe("listActivitiesByAlias", "with too much", .get("…/aliases/orderId/p-3/activities?include=all"))
                .fails(.invalidRequest).at("/include"),
            Probe("makePlan", "to renew later", plan("p-3", to: "nobody", ["renewBefore": "PT1M"]))
                .gives(entry(["action": "update"])),
            Probe("makePlan", "to alert of what was dismissed", plan("p-9", to: "planned-9"))
                .after(
                    phone("phone-79", "planned-9"),
                    .token("phone-79/device-token", 480),
                    activity("p-9", 481, of: "phone-79"),
                    .delete("…/activities/p-9?reason=dismissed")
                )
                .gives(
                    entry([
                        "action": "alert", "reason": "dismissed", "token": .token(480), "topic": "com.example.food",
                        "pushType": "alert",
                    ])
                ),
            Probe("makePlan", "for eight hours", plan("p-10", to: "nobody", ["lease": "PT8H"])).gives(200),
            Probe("makePlan", "with every fault", .post("…/plan", everyFault)).fails(.invalidRequest).at(everyPointer),
            Probe("makePlan", "of nothing", .post("…/plan", [:]))
                .fails(.invalidRequest).at("/alias", "/attributesType"),
            Probe("makePlan", "for phones without tokens", plan("p-6", to: "planned-3"))
                .after(phone("phone-73", "planned-3"))
                .gives(200),
            Probe("makePlan", "for an activity without a token by design", plan("p-13", to: "nobody"))
                .after(.put("…/installations/phone-95/activities", silentState))
                .gives(entry(["action": "none", "reason": "no-push"])),
            Probe("makePlan", "of nobody with nulls", plan("p-7", to: "nobody", ["to": .null, "lease": .null]))
                .gives(200, ["installations": []]),
            Probe("releaseLease", "that is not known", .delete("…/plan/leases/\(String(repeating: "0a", count: 16))"))
                .gives(204),
            Probe("releaseLease", "that is none", .delete("…/plan/leases/x")).fails(.invalidRequest).at("/leaseId"),
        ]
}
