import RegistryCore

extension Probe {
    private static func plan(_ order: String, to user: String, _ more: JSONObject = [:]) -> Message {
        var body: JSONObject = [
            "alias": ["kind": "orderId", "value": .string(order)],
            "to": [["kind": "orderId", "value": .string(user)]],
            "attributesType": "Order",
        ]
        for member in more { body[member.key] = member.value }
        return .post("…/plan", .object(body))
    }

    private static func phone(_ id: String, _ user: String, _ token: Int) -> [Message] {
        [
            .put("…/installations/\(id)", ["aliases": ["orderId": .string(user)]]),
            .put("…/installations/\(id)/start-tokens/Order", Sample.registration(token)),
        ]
    }

    private static func activity(_ order: String, _ token: Int) -> Message {
        .put(
            "…/activities/\(order)",
            Sample.registration(token, ["installationId": "phone-72", "aliases": ["orderId": .string(order)]])
        )
    }

    static let plans: [Probe] = [
        Probe("makePlan", "to start", plan("p-1", to: "planned-1", ["lease": "PT5M", "planId": "plan-1"]))
            .after(phone("phone-71", "planned-1", 171)[0], phone("phone-71", "planned-1", 171)[1])
            .gives(200, ["pushType": "liveactivity", "channels": []]),
        Probe("makePlan", "to wait", plan("p-2", to: "planned-1"))
            .after(plan("p-2", to: "planned-1"))
            .gives(200),
        Probe("makePlan", "to update", plan("p-3", to: "nobody"))
            .after(activity("p-3", 172))
            .gives(200),
        Probe("makePlan", "to alert", plan("p-4", to: "planned-1"))
            .after(
                .put("…/installations/phone-71/device-token", Sample.registration(174)),
                activity("p-4", 173),
                .put("…/installations/phone-72", ["aliases": ["orderId": ["planned-2"]]]),
                .delete("…/activities/p-4?reason=dismissed"),
                plan("p-4", to: "planned-2"),
                plan("p-5", to: "planned-1", ["attributesType": "Match"])
            )
            .gives(200),
        Probe("makePlan", "for phones without tokens", plan("p-6", to: "planned-3"))
            .after(.put("…/installations/phone-73", ["aliases": ["orderId": "planned-3"]]))
            .gives(200),
        Probe("makePlan", "of nobody, all else being null", plan("p-7", to: "nobody", ["to": .null, "lease": .null]))
            .gives(200, ["installations": []]),
        Probe("makePlan", "without a type", plan("p-8", to: "nobody", ["attributesType": .null]))
            .fails(.invalidRequest),
        Probe("makePlan", "from nowhere", plan("p-8", to: "nobody", ["cursor": "MTAw"]))
            .fails(.invalidCursor),
        Probe("releaseLease", "that is not known", .delete("…/plan/leases/\(String(repeating: "0a", count: 16))"))
            .gives(204),
        Probe("releaseLease", "that is none", .delete("…/plan/leases/x"))
            .fails(.invalidRequest),
    ]
}
