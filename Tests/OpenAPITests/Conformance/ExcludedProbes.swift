import Foundation
import RegistryCore

extension Probe {
    /// Bodies that the document's schemas exclude, and the service refuses.
    static let excluded: [Probe] = [
        Probe("putApp", "of no audience", .put("/v1/apps/com.example.deaf", deaf))
            .fails(.invalidRequest),
        Probe("erase", "two at once", .post(erasures, ["subject": "u-1", "installationId": "phone-10"]))
            .fails(.invalidRequest),
        Probe("erase", "an alias and a user", .post(erasures, ["subject": "u-1", "alias": alias]))
            .fails(.invalidRequest),
        Probe("erase", "nothing", .post(erasures, [:]))
            .fails(.invalidRequest),
        Probe("erase", "what is null", .post(erasures, ["subject": .null]))
            .fails(.invalidRequest),
        Probe(
            "createKey",
            "that expires twice",
            .post(keys, ["role": "client", "expiresIn": "P90D", "expiresAt": later])
        )
        .fails(.invalidRequest),
        Probe("purgeStaleTokens", "of an unheard-of kind", .post("…/audit/stale/purge", ["kind": "watch"]))
            .fails(.invalidRequest),
        Probe("purgeStaleTokens", "of no kind", .post("…/audit/stale/purge", ["kind": ""]))
            .fails(.invalidRequest),
    ]

    private static let deaf: JSONValue = [
        "jwt": [
            "issuer": "https://login.example.com", "audience": [], "jwksUrl": "https://login.example.com/jwks.json",
        ]
    ]

    /// Requests that were observed before the erasure of their installation.
    static let erased: [Probe] = [
        Probe("putInstallation", "that was erased", .put(phone, ["observedAt": Sample.minutesAgo(5)]))
            .after(erasure)
            .fails(.activityEnded),
        Probe("putStartToken", "that was erased", .put(phone + "/start-tokens/Delivery", token))
            .after(erasure)
            .fails(.activityEnded),
        Probe("putDeviceToken", "that was erased", .put(phone + "/device-token", token))
            .after(erasure)
            .fails(.activityEnded),
        Probe("putTokenOfKind", "that was erased", .put(phone + "/tokens/widget", token))
            .after(erasure)
            .fails(.activityEnded),
        Probe("putFullState", "that was erased", .put(phone + "/activities", state))
            .after(erasure)
            .fails(.activityEnded),
    ]

    private static let phone = "…/installations/erased-1"
    private static let erasure: Message = .post(erasures, ["installationId": "erased-1"])
    private static let token = Sample.registration(230, minutesAgo: 5)
    private static let state: JSONValue = ["observedAt": Sample.minutesAgo(5), "activities": []]
    private static let erasures = "…/erasures"
    private static let alias: JSONValue = ["kind": "orderId", "value": "o-10"]
    private static let keys = "/v1/apps/" + Message.bundleID + "/keys"
    private static let later = JSONValue.string(RFC3339.format(Date(timeIntervalSinceNow: 86_400)))
}
