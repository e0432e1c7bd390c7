import Foundation
import NIOHTTP1
import RegistryCore

/// Where the demo plays: it makes the calls, shows them, and checks what comes back.
struct DemoStage: Sendable {
    /// The app whose activities are played.
    static let app = "com.example.food"

    let client: DemoClient
    let screen: DemoScreen
    /// Tells this run's ids from those of earlier ones: an id is used once.
    let run = Self.randomHex(bytes: 3)
    private let start = Date()

    /// The path of the app in the sandbox, with what follows it.
    func path(_ rest: String) -> String { "/v1/apps/\(Self.app)/sandbox/\(rest)" }

    /// The path of an activity.
    func activity(_ id: String) -> String { path("activities/\(id)") }

    /// The path of what an alias names.
    func activities(under alias: String) -> String { path("aliases/\(Alias.liveActivityKind)/\(alias)/activities") }

    /// A made-up push token as ActivityKit gives them.
    func makeToken() -> String { Self.randomHex(bytes: 80) }

    /// A time on the device's clock, so many minutes into the story; all lie in the past.
    func time(minute: Int) -> JSONValue {
        .string(RFC3339.format(start.addingTimeInterval(Double(minute - 60) * 60)))
    }

    /// Makes a call, shows it with its answer, and checks that.
    ///
    /// - Throws: a ``CommandFailure`` that says what differs.
    @discardableResult
    func play(
        _ method: HTTPMethod,
        _ path: String,
        _ body: JSONObject? = nil,
        expecting expectation: Expectation
    ) async throws -> DemoAnswer {
        let call = DemoCall(method: method, path: path, body: body)
        try screen.show(call)
        let answer = try await client.send(call)
        try screen.show(answer)
        try check(expectation.difference(answer), expectation.sentence, of: answer.status)
        return answer
    }

    /// Shows that an expectation was met.
    ///
    /// - Throws: a ``CommandFailure`` when there is a difference.
    func check(_ difference: String?, _ sentence: String, of status: HTTPResponseStatus = .ok) throws {
        guard let difference else { return try screen.confirm(sentence) }
        let isRefused = status == .unauthorized || status == .forbidden
        let failure =
            isRefused ? "The service lets nobody in without credentials" : "The demo expected: \(sentence) But"
        throw CommandFailure(isRefused ? .notPermitted : .failed, "\(failure): \(difference).")
    }

    static func randomHex(bytes: Int) -> String {
        Hexadecimal.encode((0..<bytes).map { _ in UInt8.random(in: .min ... .max) })
    }
}
