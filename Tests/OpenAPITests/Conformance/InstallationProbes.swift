import RegistryCore
import TestSupport

extension Probe {
    private static let path = "…/installations/"

    private static func start(_ installation: String, _ token: Int, _ minutes: Double) -> Message {
        .token(installation + "/start-tokens/Delivery", token, minutes)
    }

    private static func device(_ installation: String, _ token: Int, _ minutes: Double) -> Message {
        .token(installation + "/device-token", token, minutes)
    }

    private static func profile(_ installation: String, _ alias: String, _ minutes: Double) -> Message {
        let (aliases, time): (JSONValue, JSONValue) = (["userId": .string(alias)], .minutesAgo(minutes))
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
        Probe("putInstallation", "from the future", profile("i-4", "u-1", -120)).fails(.clockSkew),
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
            .after(.activity("logged-out", 464, 1, ["installationId": "i-12"]), .delete(path + "i-12"))
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
}
