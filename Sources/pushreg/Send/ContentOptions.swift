import ArgumentParser
import Foundation
import RegistryCore

/// The flags that say what a push shows.
struct ContentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The activity's content state: a JSON object, or @ and the name of a file that holds one.",
            valueName: "json or @file"
        )
    )
    var contentState: String?

    @Option(help: "update or end.", completion: .list(PushContent.Event.allCases.map(\.rawValue)))
    var event = PushContent.Event.update.rawValue

    @Option(help: "With --event end, when the activity leaves the Lock Screen, such as 2026-03-01T12:00:00Z.")
    var dismissalDate: String?

    @Option(help: "When the content becomes stale, such as 2026-03-01T12:00:00Z.") var staleDate: String?

    @Option(help: "The title of an alert; a start needs one.") var alertTitle: String?
    @Option(help: "The text below the title.") var alertBody: String?

    @Option(
        help: "5, when it suits the phone, or 10, at once, which counts against the budget.",
        completion: .list(["5", "10"])
    )
    var priority = "10"

    /// - Throws: a ``CommandFailure`` that names the flag which is wrong.
    func read() throws(CommandFailure) -> PushContent {
        var content = PushContent(event: try readEvent(), priority: try readPriority())
        content.state = try JSONArgument.object("--content-state", contentState)
        content.dismissalDate = try readOption("--dismissal-date", dismissalDate, Self.time)
        content.staleDate = try readOption("--stale-date", staleDate, Self.time)
        content.alert = try readAlert()
        guard content.state != nil || content.event == .end else {
            throw CommandFailure(.usage, "Give --content-state; only --event end may go without.")
        }
        guard content.dismissalDate == nil || content.event == .end else {
            throw CommandFailure(.usage, "--dismissal-date goes with --event end.")
        }
        return content
    }

    private func readEvent() throws(CommandFailure) -> PushContent.Event {
        if let event = PushContent.Event(rawValue: event) { return event }
        throw CommandFailure(.usage, "--event must be update or end. --start begins an activity.")
    }

    private func readPriority() throws(CommandFailure) -> Int {
        guard let number = Int(priority), [5, 10].contains(number) else {
            throw CommandFailure(.usage, "--priority must be 5 or 10.")
        }
        return number
    }

    private func readAlert() throws(CommandFailure) -> JSONObject? {
        guard let alertTitle else {
            guard alertBody == nil else { throw CommandFailure(.usage, "--alert-body goes with --alert-title.") }
            return nil
        }
        return JSONObject([("title", .string(alertTitle))] + (alertBody.map { [("body", .string($0))] } ?? []))
    }

    private static func time(_ text: String) throws(JSONFaultReason) -> Date { try Date.read(.string(text)) }
}
