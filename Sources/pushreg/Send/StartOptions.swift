import ArgumentParser
import Foundation
import RegistryCore

/// The flags of a push that starts an activity where none runs.
struct StartOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Starts an activity of this ActivityAttributes type where none runs, by a plan.",
            valueName: "type"
        )
    )
    var start: String?

    @Option(
        help: ArgumentHelp(
            "With --start, the attributes: a JSON object, or @ and the name of a file that holds one.",
            valueName: "json or @file"
        )
    )
    var attributes: String?

    @Option(
        help: ArgumentHelp(
            "With --start, on whose phones, such as userId:u-7; may be given again. Phones that bear the alias are found anyway.",
            valueName: "kind:value"
        )
    )
    var to: [String] = []

    @Option(help: "With --start, how long nobody else may start it, such as PT30M; an hour unless given.")
    var lease: String?

    @Flag(help: "With --start, also starts it where the user swiped it away.") var restartDismissed = false

    /// - Returns: nil when nothing is to be started.
    /// - Throws: a ``CommandFailure`` that names the flag which is wrong or missing.
    func read(for alias: Alias, with content: PushContent) throws(CommandFailure) -> ActivityStart? {
        guard let start else {
            guard attributes == nil, to.isEmpty, lease == nil, !restartDismissed else {
                throw CommandFailure(.usage, "--attributes, --to, --lease and --restart-dismissed go with --start.")
            }
            return nil
        }
        guard content.event == .update else {
            throw CommandFailure(.usage, "--start begins an activity, and --event end ends one: give one of them.")
        }
        guard let attributes = try JSONArgument.object("--attributes", attributes) else {
            throw CommandFailure(.usage, "Give --attributes: a start push carries those of the activity.")
        }
        guard content.alert != nil else {
            throw CommandFailure(.usage, "Give --alert-title: iOS takes no start push without an alert.")
        }
        guard let type = try readOption("--start", start, AttributesType.init) else { return nil }
        let lease = try readOption("--lease", lease, Self.duration)
        return ActivityStart(attributes: attributes, request: try request(for: alias, type), lease: lease)
    }

    private func request(for alias: Alias, _ type: AttributesType) throws(CommandFailure) -> PlanRequest {
        var (request, names) = (PlanRequest(alias: alias, attributesType: type), [Alias]())
        for name in to {
            if let name = try readOption("--to", name, Alias.init(pair:)) { names.append(name) }
        }
        guard names.count <= PlanRequest.mostRecipients else {
            throw CommandFailure(.usage, "--to may be given \(PlanRequest.mostRecipients) times.")
        }
        request.to = names
        request.restartsDismissed = restartDismissed
        return request
    }

    private static func duration(_ text: String) throws(JSONFaultReason) -> Duration {
        try Duration.read(.string(text))
    }
}

/// An activity that is to be started: its attributes, and what the plan is asked.
struct ActivityStart: Sendable {
    let attributes: JSONObject
    private var request: PlanRequest
    /// Nil for the usual one.
    private let lease: Duration?

    init(attributes: JSONObject, request: PlanRequest, lease: Duration? = nil) {
        (self.attributes, self.request, self.lease) = (attributes, request, lease)
    }

    var attributesType: AttributesType { request.attributesType }

    /// The question for the plan, with a lease that the app may have.
    ///
    /// - Throws: a ``CommandFailure`` when the lease is shorter than any, or longer than activities of the app live.
    func request(in app: App) throws(CommandFailure) -> PlanRequest {
        let longest = app.settings.activityLifetime
        let shortest = min(PlanRequest.shortestLease, longest)
        var request = request
        request.lease = lease ?? min(PlanRequest.defaultLease, longest)
        guard request.lease < shortest || request.lease > longest else { return request }
        let limits = [shortest, longest].map(ISO8601Duration.format)
        throw CommandFailure(.usage, "--lease must be from \(limits[0]) to \(limits[1]).")
    }
}
