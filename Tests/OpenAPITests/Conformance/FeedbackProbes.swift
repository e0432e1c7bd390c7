import RegistryCore
import TestSupport

extension Probe {
    private static func report(_ token: Int, _ status: Int, _ reason: JSONValue = .null) -> JSONValue {
        ["token": .token(token), "status": .integer(Int64(status)), "reason": reason]
    }

    /// A request body as gorush 1.18 writes it.
    private static func gorush(_ error: String, _ token: JSONValue, platform: String = "ios") -> Message {
        let post: JSONValue = [
            "notif_id": "", "type": "failed-push", "platform": .string(platform), "token": token,
            "message": "Welcome", "error": .string(error),
        ]
        return .post("…/feedback/gorush", post)
    }

    /// Twelve different reports on one token, each twice.
    private static let repeated = (0..<24).map { number -> JSONValue in
        ["token": .token(440), "status": 410, "timestamp": .integer(1_700_000_000_000 + Int64(number % 12))]
    }
    private static let manyKinds = [
        report(61, 200), report(61, 429, "TooManyRequests"), report(62, 410, "Unregistered"),
        report(63, 400, "BadDeviceToken"), report(64, 410),
        ["token": .token(61), "status": 410, "timestamp": 1_700_000_000_000, "apnsId": "8B0D4C6A"],
    ]
    private static let allKept = JSONObject((0..<24).map { ("/results/\($0)/action", "kept-newer") })

    private static let errorsOfGorush = [
        ("TooManyRequests", "kept"), ("dial tcp: no such host", "kept"), ("Unregistered", "dropped"),
        ("BadDeviceToken", "quarantined"),
    ].enumerated().map { number, row in
        Probe("giveGorushFeedback", "of \(row.0)", gorush(row.0, .token(450 + number)))
            .after(.activity("gorush-\(number)", 450 + number, 5))
            .gives(200, ["action": .string(row.1)])
    }

    static let feedback: [Probe] =
        errorsOfGorush + [
            Probe("giveGorushFeedback", "of Android", gorush("Unregistered", "aa11bb22", platform: "android"))
                .gives(200, ["action": "ignored"]),
            Probe("giveGorushFeedback", "of an unknown token", gorush("Unregistered", "aa11bb22"))
                .gives(200, ["action": "unknown"]),
            Probe("giveGorushFeedback", "of no platform", .post("…/feedback/gorush", ["type": "failed-push"]))
                .fails(.invalidRequest).at("/platform"),
            Probe("giveGorushFeedback", "of no token", gorush("Unregistered", "no hex")).fails(.invalidRequest),
            // This fault is refused even if the post would be ignored.
            Probe("giveGorushFeedback", "of a number", gorush("Unregistered", 1, platform: "android"))
                .fails(.invalidRequest).at("/token"),
            Probe("reportFeedback", "of many kinds", .report(manyKinds))
                .after(.activity("fed-1", 61, 5), .activity("fed-2", 62, 5), .activity("fed-3", 63, 5))
                .gives([
                    "/results/0/action": "delivered", "/results/1/action": "kept", "/results/2/action": "dropped",
                    "/results/3/action": "quarantined", "/results/4/action": "unknown",
                    "/results/5/action": "kept-newer", "/results/6": .null,
                ]),
            Probe("reportFeedback", "of one token again and again", .report(repeated))
                .after(.activity("fed-6", 440, 5))
                .gives(200, allKept),
            Probe("reportFeedback", "of nothing", .report([])).gives(200, ["results": []]),
            Probe("reportFeedback", "of too much", .report([JSONValue](repeating: report(61, 200), count: 1001)))
                .fails(.invalidRequest).at("/reports"),
            Probe("reportFeedback", "without reports", .post("…/feedback", ["reports": .null]))
                .fails(.invalidRequest).at("/reports"),
            Probe("registerActivity", "of a dead token", .activity("fed-4", 65, 5))
                .after(.report([report(65, 410)]))
                .fails(.tokenUnregistered, ["reason": "unregistered"]),
            Probe("registerActivityByAlias", "of a dead one", .named("o-9", 67, 5))
                .after(.report([report(67, 410)]))
                .fails(.tokenUnregistered),
            Probe("releaseActivity", "quarantined", .post("…/activities/fed-5/release"))
                .after(.activity("fed-5", 66, 5), .report([report(66, 400, "BadDeviceToken")]))
                .gives(200, ["released": 1]),
            Probe("releaseActivity", "released before", .post("…/activities/fed-5/release"))
                .gives(200, ["released": 0]),
            Probe("releaseActivity", "unknown", .post("…/activities/nobody/release")).fails(.activityNotFound),
            Probe("releaseActivity", "with a long id", .post("…/activities/\(Sample.longID)/release"))
                .fails(.invalidRequest),
            Probe("erase", "an alias", .post("…/erasures", ["alias": ["kind": "orderId", "value": "o-10"]]))
                .gives(200, ["activities": 0]),
            Probe("erase", "an installation", .post("…/erasures", ["installationId": "phone-10"])).gives(200),
            Probe("erase", "a user, the rest being null", .post("…/erasures", ["subject": "u-9", "alias": .null]))
                .gives(200),
            Probe("releaseAll", "of two reports", .post("…/release")).gives(200, ["released": 2]),
        ]
}
