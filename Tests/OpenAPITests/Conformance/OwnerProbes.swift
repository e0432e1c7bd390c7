import RegistryCore
import TestSupport

extension Probe {
    static let ofOthers: [Probe] = [
        Probe("registerActivity", "of another's", activity(211).by(user: "u-2"))
            .after(activity(210).by(user: "u-1"))
            .fails(.notYours),
        Probe("endActivity", "of another's", .delete("…/activities/own-1").by(user: "u-2"))
            .after(activity(210).by(user: "u-1"))
            .fails(.notYours),
        Probe("registerActivityByAlias", "of another's", named(213).by(user: "u-2"))
            .after(named(212).by(user: "u-1"))
            .fails(.notYours),
        Probe("endActivityByAlias", "of another's", onPhone(.delete("…/activities?alias=own-2")).by(user: "u-2"))
            .after(named(212).by(user: "u-1"))
            .fails(.notYours),
        Probe("logOutInstallation", "of another's", .delete("…/installations/owned-1").by(user: "u-2"))
            .after(.token("owned-1/device-token", 216).by(user: "u-1"))
            .fails(.notYours),
        Probe("putInstallation", "that they take over", .put(taken, ["aliases": ["userId": "u-2"]]).by(user: "u-2"))
            .after(.put(taken, ["aliases": ["userId": "u-1"]]).by(user: "u-1"))
            .gives(200),
        Probe("putInstallation", "of another now", .put(lost, ["observedAt": .minutesAgo(2)]).by(user: "u-1"))
            .after(.put(lost, ["observedAt": .minutesAgo(1)]).by(user: "u-2"))
            .fails(.superseded),
    ]

    private static let taken = "…/installations/owned-2"
    private static let lost = "…/installations/owned-3"

    private static func activity(_ token: Int) -> Message { .activity("own-1", token) }
    private static func onPhone(_ message: Message) -> Message { message.from("owned-4") }
    private static func named(_ token: Int) -> Message { onPhone(.named("own-2", token)) }
}
