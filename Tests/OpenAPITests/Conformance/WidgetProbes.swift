import HTTPTypes
import RegistryCore

extension Probe {
    private static let path = "…/installations/"

    private static func widget(_ installation: String, _ token: Int, _ minutes: Double? = nil) -> Message {
        .put(path + installation + "/tokens/widget", Sample.registration(token, minutesAgo: minutes))
    }

    private static func device(_ installation: String, _ token: Int) -> Message {
        .put(path + installation + "/device-token", Sample.registration(token, minutesAgo: 2))
    }

    static let tokensOfKinds: [Probe] = [
        Probe("putTokenOfKind", "a widget's first one", widget("w-1", 300, 1))
            .gives(201, ["outcome": "registered", "kind": "widget"]),
        Probe("putTokenOfKind", "the device token again", .put(path + "w-2/tokens/device", Sample.registration(301)))
            .after(device("w-2", 301))
            .gives(200, ["outcome": "refreshed", "kind": "device"]),
        Probe("putTokenOfKind", "that another has", widget("w-3", 302, 2))
            .after(widget("w-4", 302, 1))
            .fails(.superseded, ["reason": "taken-over", "kind": "widget"]),
        Probe("putDeviceToken", "a widget's, later", device("w-14", 311))
            .after(widget("w-14", 311, 1))
            .fails(.tokenKindConflict, ["reason": "kind-conflict", "kind": "device"]),
        Probe("putTokenOfKind", "a device's, later", widget("w-15", 312, 3))
            .after(device("w-15", 312))
            .fails(.tokenKindConflict, ["reason": "kind-conflict", "kind": "widget"]),
        Probe("putTokenOfKind", "deleted since", widget("w-5", 303, 2))
            .after(.delete(path + "w-5/tokens/widget"))
            .fails(.superseded, ["reason": "deleted"]),
        Probe("putTokenOfKind", "of no kind", .put(path + "w-6/tokens/update", Sample.registration(304)))
            .fails(.invalidRequest, ["/errors/0/detail": "(in the path) must be one of device, widget, voip"])
            .at("/tokenKind"),
        Probe("putTokenOfKind", "from the future", widget("w-6", 304, -10)).fails(.clockSkew),
        Probe("putTokenOfKind", "of another's", widget("w-7", 306).by(user: "u-2"))
            .after(widget("w-7", 305).by(user: "u-1"))
            .fails(.notYours),
        Probe("deleteTokenOfKind", "unknown", .delete(path + "w-8/tokens/widget")).gives(204),
        Probe("deleteTokenOfKind", "in the future", .delete(path + "w-8/tokens/widget?observedAt=2999-01-01T00:00:00Z"))
            .fails(.clockSkew),
        Probe("deleteTokenOfKind", "of no kind", .delete(path + "w-8/tokens/start")).fails(.invalidRequest),
        Probe("deleteTokenOfKind", "of another's", .delete(path + "w-9/tokens/widget").by(user: "u-2"))
            .after(widget("w-9", 307).by(user: "u-1"))
            .fails(.notYours),
        Probe("releaseTokenOfKind", "a known one", Message(.post, path + "w-10/tokens/widget/release"))
            .after(widget("w-10", 308, 1))
            .gives(204),
        Probe("releaseTokenOfKind", "unknown", Message(.post, path + "w-11/tokens/widget/release"))
            .fails(.tokenNotFound),
        Probe("releaseTokenOfKind", "of no kind", Message(.post, path + "w-11/tokens/watch/release"))
            .fails(.invalidRequest),
        Probe("listTokensOfKindByAlias", "a page", .get("…/aliases/userId/w-12/tokens/widget"))
            .after(.put(path + "w-12", ["aliases": ["userId": "w-12"]]), widget("w-12", 309, 1), device("w-12", 310))
            .gives([
                "pushType": "widgets", "topic": "com.example.food.push-type.widgets",
                "/tokens/0/token": Sample.token(309), "/tokens/0/pushType": "widgets", "/tokens/1": .null,
            ]),
        Probe("listTokensOfKindByAlias", "nothing", .get("…/aliases/userId/w-13/tokens/device"))
            .gives(200, ["tokens": [], "pushType": "alert"]),
        Probe("listTokensOfKindByAlias", "of no kind", .get("…/aliases/userId/w-13/tokens/update"))
            .fails(.invalidRequest),
        Probe("listTokensOfKindByAlias", "from nowhere", .get("…/aliases/userId/x/tokens/widget?cursor=MTAw"))
            .fails(.invalidCursor),
        Probe("registerActivity", "a widget token", .put("…/activities/kind-4", Sample.registration(311)))
            .after(widget("w-14", 311, 2))
            .fails(.tokenKindConflict, ["activityId": "kind-4", "reason": "kind-conflict"]),
    ]
}
