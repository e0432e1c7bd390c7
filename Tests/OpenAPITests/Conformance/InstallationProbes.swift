import HTTPTypes
import RegistryCore

extension Probe {
    private static let path = "…/installations/"

    private static func start(_ installation: String, _ token: Int, _ minutes: Double? = nil) -> Message {
        .put(path + installation + "/start-tokens/Delivery", Sample.registration(token, minutesAgo: minutes))
    }

    private static func device(_ installation: String, _ token: Int, _ minutes: Double? = nil) -> Message {
        .put(path + installation + "/device-token", Sample.registration(token, minutesAgo: minutes))
    }

    private static func activity(_ id: String, _ token: Int, _ more: JSONObject = [:]) -> Message {
        .put("…/activities/" + id, Sample.registration(token, minutesAgo: 1, more))
    }

    private static func profile(_ installation: String, _ alias: String, _ minutes: Double) -> Message {
        let (aliases, time): (JSONValue, JSONValue) = (["userId": .string(alias)], Sample.minutesAgo(minutes))
        return .put(path + installation, ["aliases": aliases, "observedAt": time, "metadata": .null])
    }

    private static let inTheFuture = "observedAt=2999-01-01T00:00:00Z"

    static let installations: [Probe] = [
        Probe("putInstallation", "a new one", profile("i-1", "u-1", 1)).gives(201),
        Probe("putInstallation", "a known one", .put(path + "i-2", ["metadata": ["build": 7], "aliases": [:]]))
            .after(profile("i-2", "u-1", 1))
            .gives(200),
        Probe("putInstallation", "before its log-out", profile("i-3", "u-1", 2))
            .after(.delete(path + "i-3"))
            .fails(.superseded),
        Probe("putInstallation", "of two installations", profile("i-4", "u-1", 1).from("i-5"))
            .fails(.invalidRequest),
        Probe("putInstallation", "wrong", .put(path + "i-4", ["aliases": ["1": "x"], "metadata": 1, "observedAt": ""]))
            .fails(.invalidRequest).at("/aliases/1", "/metadata", "/observedAt"),
        Probe("putInstallation", "from the future", profile("i-4", "u-1", -10)).fails(.clockSkew),
        Probe("getInstallation", "with all that there is", .get(path + "i-6"))
            .after(profile("i-6", "u-1", 1), start("i-6", 120, 1), device("i-6", 121, 1), device("i-7", 121, 0))
            .gives(200, ["aliases": ["userId": ["u-1"]]]),
        Probe("getInstallation", "with metadata and tokens", .get(path + "i-11"))
            .after(.put(path + "i-11", ["metadata": ["build": 7]]), start("i-11", 460, 1), device("i-11", 461, 1))
            .gives(200, ["metadata": ["build": 7], "/tokens/0/kind": "device", "/tokens/1/kind": "start"]),
        Probe("getInstallation", "logged out", .get(path + "i-8"))
            .after(profile("i-8", "u-8", 2), start("i-8", 462, 2), device("i-8", 463, 2), .delete(path + "i-8"))
            .gives(200, ["tokens": [], "aliases": .null]),
        Probe("getActivity", "of an installation that logged out", .get("…/activities/logged-out"))
            .after(activity("logged-out", 464, ["installationId": "i-12"]), .delete(path + "i-12"))
            .gives(200, ["state": "ended"]),
        Probe("getInstallation", "unknown", .get(path + "i-none")).fails(.installationNotFound),
        Probe("getInstallation", "with a long id", .get(path + Sample.longID)).fails(.invalidRequest),
        Probe("logOutInstallation", "unknown", .delete(path + "i-9")).gives(204),
        Probe("logOutInstallation", "with its time", .delete(path + "i-10?observedAt=2026-01-01T00:00:00Z"))
            .after(start("i-10", 122, 1))
            .gives(204),
        Probe("logOutInstallation", "of no place at no time", .delete(path + "..?observedAt=then"))
            .fails(.invalidRequest).at("/installationId", "/observedAt"),
        Probe("logOutInstallation", "in the future", .delete(path + "i-10?" + inTheFuture)).fails(.clockSkew),
    ]

    static let startTokens: [Probe] = [
        Probe("putStartToken", "a first one", start("s-1", 130, 1))
            .gives(201, ["outcome": "registered", "kind": "start", "attributesType": "Delivery"]),
        Probe("putStartToken", "another", start("s-2", 132))
            .after(start("s-2", 131, 1))
            .gives(200, ["outcome": "rotated"]),
        Probe("putStartToken", "an older one", start("s-3", 134, 2))
            .after(start("s-3", 133, 1))
            .fails(.superseded, ["reason": "rotated", "kind": "start"])
            .names("serverTime"),
        Probe("putStartToken", "deleted since", start("s-10", 465, 2))
            .after(.delete(path + "s-10/start-tokens/Delivery?observedAt=" + aMinuteAgo))
            .fails(.superseded, ["reason": "deleted", "observedAt": .string(aMinuteAgo)]),
        Probe("putStartToken", "after a log-out", start("s-11", 466))
            .after(start("s-11", 466, 1), .delete(path + "s-11"))
            .gives(200),
        Probe("putStartToken", "a device token", start("s-4", 135, 1))
            .after(device("s-4", 135, 2))
            .fails(.tokenKindConflict, ["reason": "kind-conflict"]),
        Probe(
            "putStartToken",
            "with every fault",
            .put(path + "s-5/start-tokens/" + Sample.longID, ["token": "0", "observedAt": 1, "installationId": "s-6"])
                .from("s-7")
        )
        .fails(.invalidRequest).at("/installationId", "/attributesType", "/token", "/observedAt"),
        Probe("putStartToken", "from the future", start("s-5", 136, -10)).fails(.clockSkew),
        Probe("deleteStartToken", "unknown", .delete(path + "s-6/start-tokens/Delivery")).gives(204),
        Probe("deleteStartToken", "of a long type", .delete(path + "s-6/start-tokens/" + Sample.longID))
            .fails(.invalidRequest),
        Probe("deleteStartToken", "in the future", .delete(path + "s-6/start-tokens/Delivery?" + inTheFuture))
            .fails(.clockSkew),
        Probe("releaseStartToken", "a known one", Message(.post, path + "s-7/start-tokens/Delivery/release"))
            .after(start("s-7", 137, 1))
            .gives(204),
        Probe("releaseStartToken", "unknown", Message(.post, path + "s-8/start-tokens/Delivery/release"))
            .fails(.tokenNotFound),
        Probe("releaseStartToken", "of a long id", Message(.post, path + Sample.longID + "/start-tokens/x/release"))
            .fails(.invalidRequest),
    ]

    static let deviceTokens: [Probe] = [
        Probe("putDeviceToken", "a first one", device("d-1", 140, 1))
            .gives(201, ["outcome": "registered", "kind": "device"]),
        Probe("putDeviceToken", "after its deletion", device("d-2", 141, 0))
            .after(device("d-2", 141, 2), .delete(path + "d-2/device-token?observedAt=" + aMinuteAgo))
            .gives(200, ["outcome": "reactivated"]),
        Probe("putDeviceToken", "that another has", device("d-3", 142, 2))
            .after(device("d-4", 142, 1))
            .fails(.superseded, ["reason": "taken-over"]),
        Probe("putDeviceToken", "deleted since", device("d-5", 143, 2))
            .after(.delete(path + "d-5/device-token"))
            .fails(.superseded, ["reason": "deleted"]),
        Probe("putDeviceToken", "without a token", .put(path + "d-6/device-token", ["token": "no hex"]))
            .fails(.invalidRequest),
        Probe("putDeviceToken", "from the future", device("d-6", 144, -10)).fails(.clockSkew),
        Probe("deleteDeviceToken", "unknown", .delete(path + "d-7/device-token")).gives(204),
        Probe("deleteDeviceToken", "of a long id", .delete(path + Sample.longID + "/device-token"))
            .fails(.invalidRequest),
        Probe("deleteDeviceToken", "in the future", .delete(path + "d-7/device-token?" + inTheFuture))
            .fails(.clockSkew),
        Probe("releaseDeviceToken", "a known one", Message(.post, path + "d-8/device-token/release"))
            .after(device("d-8", 145, 1))
            .gives(204),
        Probe("releaseDeviceToken", "unknown", Message(.post, path + "d-9/device-token/release"))
            .fails(.tokenNotFound),
        Probe("releaseDeviceToken", "of a long id", Message(.post, path + Sample.longID + "/device-token/release"))
            .fails(.invalidRequest),
        Probe("registerActivity", "a device token", activity("kind-1", 146))
            .after(device("d-10", 146, 2))
            .fails(.tokenKindConflict, ["activityId": "kind-1", "reason": "kind-conflict"]),
        Probe("getActivity", "with a device token", .get("…/activities/kind-2"))
            .after(activity("kind-2", 147), device("d-11", 147, 2))
            .gives(200, ["state": "active", "reason": "kind-conflict"]),
        Probe(
            "registerActivityByAlias",
            "a device token",
            .post("…/activities", Sample.registration(148, minutesAgo: 1, ["alias": "kind-3"]))
        )
        .after(device("d-12", 148, 2))
        .fails(.tokenKindConflict),
    ]

    private static let aMinuteAgo: String = Sample.minutesAgo(1).text ?? ""
}
