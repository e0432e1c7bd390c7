import Foundation
import PushTokenRegistry

/// An activity of a simulated phone. Its properties and its streams may say different things, as on a true one.
package final class FakeActivity: SystemActivity {
    private struct State: Sendable {
        var phase: ActivityPhase
        var token: Data?
    }

    package let id: String
    package let aliases: [String: String]
    package let startsAt: Date?
    package let tokenStreams = TestStreams<Data>()
    package let phaseStreams = TestStreams<ActivityPhase>()
    private let state: LockedValue<State>

    package init(
        _ id: String,
        _ order: String? = nil,
        phase: ActivityPhase = .active,
        token: String? = nil,
        startsAt: Date? = nil
    ) {
        (self.id, self.startsAt) = (id, startsAt)
        aliases = ["liveactivityId": order ?? "order-of-\(id)"]
        state = LockedValue(State(phase: phase, token: token.map { Data($0.utf8) }))
    }

    package var phase: ActivityPhase { state.withLock { $0.phase } }
    package var token: Data? { state.withLock { $0.token } }
    package func tokens() -> AsyncStream<Data> { tokenStreams.subscribe() }
    package func phases() -> AsyncStream<ActivityPhase> { phaseStreams.subscribe() }

    /// Ends as the app's own end does, which takes it off the screen at once.
    package func end() async { changes(to: .dismissed) }

    /// Gets a token that both the property and the stream have.
    package func gets(_ token: String) {
        keeps(token)
        says(token)
    }

    /// The stream alone has a token.
    package func says(_ token: String) { tokenStreams.send(Data(token.utf8)) }

    /// The property alone has a token.
    package func keeps(_ token: String) { state.withLock { $0.token = Data(token.utf8) } }

    package func changes(to phase: ActivityPhase) {
        becomes(phase)
        phaseStreams.send(phase)
    }

    /// The property alone changes.
    package func becomes(_ phase: ActivityPhase) { state.withLock { $0.phase = phase } }
}
