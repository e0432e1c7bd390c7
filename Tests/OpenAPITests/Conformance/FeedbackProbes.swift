import RegistryCore

extension Probe {
    private static func put(_ id: String, _ token: Int) -> Message {
        .put("…/activities/" + id, Sample.registration(token, minutesAgo: 5))
    }

    private static func report(_ token: Int, _ status: Int, _ reason: String?) -> JSONValue {
        [
            "token": Sample.token(token), "status": .integer(Int64(status)),
            "reason": reason.map { .string($0) } ?? .null,
        ]
    }

    private static func report(_ token: Int, _ status: Int, reason: String? = nil) -> Message {
        .post("…/feedback", ["reports": [report(token, status, reason)]])
    }

    private static func gorush(_ platform: String) -> JSONValue {
        [
            "notif_id": "", "type": "failed-push", "platform": .string(platform), "token": .string("aa11bb22"),
            "message": "Welcome", "error": "Unregistered",
        ]
    }

    static let feedback: [Probe] = [
        Probe("giveGorushFeedback", "of Android", .post("…/feedback/gorush", gorush("android")))
            .gives(200, ["action": "ignored"]),
        Probe("giveGorushFeedback", "of an unknown token", .post("…/feedback/gorush", gorush("ios")))
            .gives(200, ["action": "unknown"]),
        Probe("giveGorushFeedback", "of nothing", .post("…/feedback/gorush", [:]))
            .fails(.invalidRequest),
        Probe(
            "reportFeedback",
            "of many kinds",
            .post(
                "…/feedback",
                [
                    "reports": [
                        report(61, 200, nil), report(61, 429, "TooManyRequests"), report(62, 410, "Unregistered"),
                        report(63, 400, "BadDeviceToken"), report(64, 410, nil),
                        [
                            "token": Sample.token(61), "status": 410, "timestamp": 1_700_000_000_000,
                            "apnsId": "8B0D4C6A",
                        ],
                    ]
                ]
            )
        )
        .after(put("fed-1", 61), put("fed-2", 62), put("fed-3", 63))
        .gives(200),
        Probe("reportFeedback", "without reports", .post("…/feedback", ["reports": .null]))
            .fails(.invalidRequest),
        Probe("registerActivity", "of a dead token", put("fed-4", 65))
            .after(report(65, 410))
            .fails(.tokenUnregistered, ["reason": "unregistered"]),
        Probe(
            "registerActivityByAlias",
            "of a dead token",
            .post("…/activities", Sample.registration(67, minutesAgo: 5, ["alias": "o-9"]))
        )
        .after(report(67, 410))
        .fails(.tokenUnregistered),
        Probe(
            "putDeviceToken",
            "that is dead",
            .put("…/installations/phone-11/device-token", Sample.registration(68, minutesAgo: 5))
        )
        .after(report(68, 410))
        .fails(.tokenUnregistered),
        Probe(
            "putTokenOfKind",
            "that is dead",
            .put("…/installations/phone-11/tokens/widget", Sample.registration(70, minutesAgo: 5))
        )
        .after(report(70, 410))
        .fails(.tokenUnregistered),
        Probe(
            "putStartToken",
            "that is dead",
            .put("…/installations/phone-11/start-tokens/Order", Sample.registration(69, minutesAgo: 5))
        )
        .after(report(69, 410))
        .fails(.tokenUnregistered),
        Probe("releaseActivity", "quarantined", .post("…/activities/fed-5/release"))
            .after(put("fed-5", 66), report(66, 400, reason: "BadDeviceToken"))
            .gives(200, ["released": 1]),
        Probe("releaseActivity", "unknown", .post("…/activities/nobody/release"))
            .fails(.activityNotFound),
        Probe("releaseActivity", "with a long id", .post("…/activities/\(Sample.longID)/release"))
            .fails(.invalidRequest),
        Probe("erase", "an alias", .post("…/erasures", ["alias": ["kind": "orderId", "value": "o-10"]]))
            .gives(200, ["activities": 0]),
        Probe("erase", "an installation", .post("…/erasures", ["installationId": "phone-10"]))
            .gives(200),
        Probe("erase", "a user, the rest being null", .post("…/erasures", ["subject": "u-9", "alias": .null]))
            .gives(200),
        Probe("releaseAll", "none or some", .post("…/release"))
            .gives(200),
    ]
}
