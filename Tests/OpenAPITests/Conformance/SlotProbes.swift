import RegistryCore
import TestSupport

/// A slot for a token of an installation, with the names of its operations.
private struct Slot {
    /// Such as `StartToken` in `putStartToken`.
    let name: String
    let path: String
    let kind: String
    /// The first of the tokens that only the probes of this slot register.
    let first: Int

    static let all = [
        Slot(name: "StartToken", path: "start-tokens/Delivery", kind: "start", first: 130),
        Slot(name: "DeviceToken", path: "device-token", kind: "device", first: 520),
        Slot(name: "TokenOfKind", path: "tokens/widget", kind: "widget", first: 540),
    ]

    private func at(_ phone: String) -> String { "…/installations/\(kind)-\(phone)/\(path)" }

    func put(_ phone: String, _ token: Int, _ minutes: Double? = nil) -> Message {
        .put(at(phone), Sample.registration(first + token, minutesAgo: minutes))
    }

    private func delete(_ phone: String, _ query: String = "") -> Message { .delete(at(phone) + query) }
    private func release(_ phone: String) -> Message { .post(at(phone) + "/release") }
    private var longID: String { "…/installations/\(Sample.longID)/\(path)" }

    var probes: [Probe] {
        let aMinuteAgo = JSONValue.minutesAgo(1)
        return [
            Probe("put\(name)", "a first one", put("1", 0, 1))
                .gives(201, ["outcome": "registered", "kind": .string(kind)]),
            Probe("put\(name)", "another", put("2", 2)).after(put("2", 1, 1)).gives(200, ["outcome": "rotated"]),
            Probe("put\(name)", "an older one", put("3", 4, 2))
                .after(put("3", 3, 1))
                .fails(.superseded, ["reason": "rotated", "kind": .string(kind)])
                .names("serverTime"),
            Probe("put\(name)", "deleted since", put("4", 5, 2))
                .after(delete("4", "?observedAt=\(aMinuteAgo.string ?? "")"))
                .fails(.superseded, ["reason": "deleted", "observedAt": aMinuteAgo]),
            Probe("put\(name)", "after its deletion", put("5", 6, 0))
                .after(put("5", 6, 2), delete("5", "?observedAt=\(aMinuteAgo.string ?? "")"))
                .gives(200, ["outcome": "reactivated"]),
            Probe("put\(name)", "after a log-out", put("6", 7))
                .after(put("6", 7, 1), .delete("…/installations/\(kind)-6"))
                .gives(200),
            Probe("put\(name)", "without a token", .put(at("7"), ["token": "no hex"])).fails(.invalidRequest),
            Probe("put\(name)", "from the future", put("7", 8, -120)).fails(.clockSkew),
            Probe("put\(name)", "that is dead", put("8", 9, 5))
                .after(.report([["token": .token(first + 9), "status": 410]]))
                .fails(.tokenUnregistered),
            Probe("put\(name)", "of another's", put("9", 11).by(user: "u-2"))
                .after(put("9", 10).by(user: "u-1"))
                .fails(.notYours),
            Probe("put\(name)", "that was erased", put("10", 12, 5))
                .after(.post("…/erasures", ["installationId": .string(kind + "-10")]))
                .fails(.activityEnded),
            Probe("delete\(name)", "of another's", delete("9").by(user: "u-2"))
                .after(put("9", 10).by(user: "u-1"))
                .fails(.notYours),
            Probe("delete\(name)", "unknown", delete("11")).gives(204),
            Probe("delete\(name)", "of a long id", .delete(longID)).fails(.invalidRequest),
            Probe("delete\(name)", "in the future", delete("11", "?observedAt=2999-01-01T00:00:00Z")).fails(.clockSkew),
            Probe("release\(name)", "a known one", release("12")).after(put("12", 13, 1)).gives(204),
            Probe("release\(name)", "unknown", release("11")).fails(.tokenNotFound),
            Probe("release\(name)", "of a long id", .post(longID + "/release")).fails(.invalidRequest),
        ]
    }
}

extension Probe {
    private static let path = "…/installations/"
    private static let (start, device, widget) = (Slot.all[0], Slot.all[1], Slot.all[2])

    private static func activity(_ id: String, _ slot: Slot, _ token: Int) -> Message {
        .activity(id, slot.first + token, 1)
    }

    static let slots: [Probe] = Slot.all.flatMap(\.probes) + ofSeveralKinds

    private static let faulty: JSONValue = ["token": "0", "observedAt": 1, "installationId": "s-6"]

    private static let ofSeveralKinds: [Probe] = [
        // Several installations may share a start token.
        Probe("putDeviceToken", "that another has", device.put("13", 14, 2))
            .after(device.put("14", 14, 1))
            .fails(.superseded, ["reason": "taken-over"]),
        Probe("putTokenOfKind", "that another has", widget.put("13", 14, 2))
            .after(widget.put("14", 14, 1))
            .fails(.superseded, ["reason": "taken-over", "kind": "widget"]),
        Probe("putStartToken", "a device token", .token("s-4/start-tokens/Match", 535, 1))
            .after(device.put("15", 15, 2))
            .fails(.tokenKindConflict, ["reason": "kind-conflict"]),
        Probe("putDeviceToken", "a widget's, later", .token("w-14/device-token", 555, 2))
            .after(widget.put("15", 15, 1))
            .fails(.tokenKindConflict, ["reason": "kind-conflict", "kind": "device"]),
        Probe("putTokenOfKind", "a device's, later", .token("w-15/tokens/widget", 590, 3))
            .after(.token("w-15/device-token", 590, 2))
            .fails(.tokenKindConflict, ["reason": "kind-conflict", "kind": "widget"]),
        Probe("deleteTokenOfKind", "of a faulty type", .delete(path + "device-16/tokens/device?attributesType=.."))
            .fails(.invalidRequest).at("/attributesType"),
        Probe("putTokenOfKind", "the device token again", .token("device-16/tokens/device", 536))
            .after(device.put("16", 16))
            .gives(200, ["outcome": "refreshed", "kind": "device"]),
        Probe("putStartToken", "with every fault", .put(path + "s-5/start-tokens/" + Sample.longID, faulty).from("s-7"))
            .fails(.invalidRequest).at("/installationId", "/attributesType", "/token", "/observedAt"),
        Probe("putTokenOfKind", "of no kind", .token("w-6/tokens/update", 537))
            .fails(.invalidRequest, ["/errors/0/detail": "(in the path) must be one of device, widget, voip"])
            .at("/tokenKind"),
        Probe("deleteTokenOfKind", "of no kind", .delete(path + "w-8/tokens/start")).fails(.invalidRequest),
        Probe("releaseTokenOfKind", "of no kind", .post(path + "w-11/tokens/watch/release")).fails(.invalidRequest),
        Probe("registerActivity", "a device token", activity("kind-1", device, 17))
            .after(device.put("17", 17, 2))
            .fails(.tokenKindConflict, ["activityId": "kind-1", "reason": "kind-conflict"]),
        Probe("getActivity", "with a device token", .get("…/activities/kind-2"))
            .after(activity("kind-2", device, 18), device.put("18", 18, 2))
            .gives(200, ["state": "active", "reason": "kind-conflict"]),
        Probe("registerActivityByAlias", "a device token", .named("kind-3", device.first + 19, 1))
            .after(device.put("19", 19, 2))
            .fails(.tokenKindConflict),
        Probe("listTokensOfKindByAlias", "a page", .get("…/aliases/userId/w-12/tokens/widget"))
            .after(.put(path + "widget-18", ["aliases": ["userId": "w-12"]]), widget.put("18", 18, 1))
            .gives([
                "pushType": "widgets", "topic": "com.example.food.push-type.widgets",
                "/tokens/0/token": .token(558), "/tokens/0/pushType": "widgets", "/tokens/1": .null,
            ]),
        Probe("listTokensOfKindByAlias", "nothing", .get("…/aliases/userId/w-13/tokens/device"))
            .gives(200, ["tokens": [], "pushType": "alert"]),
        Probe("listTokensOfKindByAlias", "of no kind", .get("…/aliases/userId/w-13/tokens/update"))
            .fails(.invalidRequest),
    ]
}
