import Foundation
import RegistryCore
import TestSupport

extension Probe {
    static let excluded: [Probe] = [
        Probe("putApp", "of no audience", .put("/v1/apps/com.example.deaf", deaf)).fails(.invalidRequest),
        Probe("erase", "two at once", .post(erasures, ["subject": "u-1", "installationId": "phone-10"]))
            .fails(.invalidRequest),
        Probe("erase", "an alias and a user", .post(erasures, ["subject": "u-1", "alias": alias]))
            .fails(.invalidRequest),
        Probe("erase", "nothing", .post(erasures, [:])).fails(.invalidRequest),
        Probe("erase", "what is null", .post(erasures, ["subject": .null])).fails(.invalidRequest),
        Probe("createKey", "of two ends", .post(keys, ["role": "client", "expiresIn": "P90D", "expiresAt": later]))
            .fails(.invalidRequest).at("/expiresIn"),
        Probe("purgeStaleTokens", "of a kind with capitals", .post("…/audit/stale/purge", ["kind": "Watch"]))
            .fails(.invalidRequest),
        Probe("purgeStaleTokens", "of no kind", .post("…/audit/stale/purge", ["kind": ""])).fails(.invalidRequest),
    ]

    private static let deaf: JSONValue = [
        "jwt": [
            "issuer": "https://login.example.com", "audience": [], "jwksUrl": "https://login.example.com/jwks.json",
        ]
    ]

    private static func eraseAlias(_ order: String) -> Message {
        .post(erasures, ["alias": ["kind": "orderId", "value": .string(order)]])
    }

    static let erased: [Probe] = [
        Probe("erase", "two activities of an alias", eraseAlias("erased-2"))
            .after(.activity("erased-1", 430, order: "erased-2"), .activity("erased-2", 431, order: "erased-2"))
            .gives(200, ["activities": 2, "events": 2]),
        Probe("getActivity", "of another alias", .get("…/activities/spared"))
            .after(
                .activity("spared", 432, order: "spared"),
                .activity("erased-3", 433, order: "erased-3"),
                eraseAlias("erased-3")
            )
            .gives(200, ["token": .token(432)]),
        Probe("registerActivity", "that was erased", .activity("erased-4", 434, order: "erased-4"))
            .after(.activity("erased-4", 434, order: "erased-4"), eraseAlias("erased-4"))
            .fails(.activityEnded).names("serverTime"),
        Probe("getActivity", "that was erased and ended", .get("…/activities/erased-5"))
            .after(
                .activity("erased-5", 435, order: "erased-5"),
                eraseAlias("erased-5"),
                .delete("…/activities/erased-5")
            )
            .fails(.activityNotFound),
        Probe("erase", "no kind of alias", .post(erasures, ["alias": ["kind": "1", "value": "x"]]))
            .fails(.invalidRequest),
        Probe("erase", "no name of a user", .post(erasures, ["subject": ""])).fails(.invalidRequest),
        Probe("erase", "no installation", .post(erasures, ["installationId": 7])).fails(.invalidRequest),
        // Observed before the installation's erasure.
        Probe("putInstallation", "that was erased", .put(phone, ["observedAt": .minutesAgo(5)]))
            .after(erasure)
            .fails(.activityEnded),
        Probe("putFullState", "that was erased", .put(phone + "/activities", state))
            .after(erasure)
            .fails(.activityEnded),
    ]

    private static let phone = "…/installations/erased-1"
    private static let erasure: Message = .post(erasures, ["installationId": "erased-1"])
    private static let state: JSONValue = ["observedAt": .minutesAgo(5), "activities": []]
    private static let erasures = "…/erasures"
    private static let alias: JSONValue = ["kind": "orderId", "value": "o-10"]
    private static let keys = "/v1/apps/" + Message.bundleID + "/keys"
    private static let later = JSONValue.string(RFC3339.format(Date(timeIntervalSinceNow: 86_400)))
}
