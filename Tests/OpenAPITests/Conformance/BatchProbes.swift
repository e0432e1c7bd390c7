import RegistryCore

extension Probe {
    private static func put(_ installation: String, _ minutes: Double, _ activities: JSONValue) -> Message {
        .put(
            "…/installations/\(installation)/activities",
            [
                "observedAt": Sample.minutesAgo(minutes), "installationId": .string(installation),
                "activities": activities,
            ]
        )
    }

    private static func register(_ id: String, _ token: Int) -> Message {
        .put("…/activities/" + id, Sample.registration(token, minutesAgo: 2, ["installationId": "phone-6"]))
    }

    private static let listed: JSONValue = [
        ["activityId": "state-1", "token": Sample.token(58)], ["activityId": "state-2"], ["activityId": "state-3"],
    ]

    static let fullStates: [Probe] = [
        Probe("putFullState", "listed and not", put("phone-6", 1, listed))
            .after(register("state-1", 57), register("state-4", 60), .delete("…/activities/state-3"))
            .gives(200, ["ended": ["state-4"]]),
        Probe("putFullState", "of two installations", put("phone-7", 1, []).with("X-Installation-Id", "phone-8"))
            .fails(.invalidRequest),
        Probe("putFullState", "from the future", put("phone-7", -10, []))
            .fails(.clockSkew),
    ]

    /// Their bodies are not what the document asks for; faults of items are answered in place all the same.
    static let malformedItems: [Probe] = [
        Probe(
            "putFullState",
            "without ids",
            put("phone-9", 1, [["activityId": "state-5", "token": "no hex"], [:], 7])
        )
        .gives(200),
        Probe("resolveAliases", "of no kind", .post("…/resolve", ["aliases": [["kind": "7", "value": ""], 7]]))
            .gives(200),
    ]
}
