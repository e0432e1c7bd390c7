import Foundation
import PushTokenRegistry

/// A simulated activity. As in ActivityKit, a property can differ from the last value of its stream.
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

    /// Ends like an immediate end by the app: the activity leaves the screen.
    package func end() async { change(to: .dismissed) }

    package func deliverToken(_ token: String) {
        setToken(token)
        streamToken(token)
    }

    /// Delivers a token by the stream only.
    package func streamToken(_ token: String) { tokenStreams.send(Data(token.utf8)) }

    /// Sets the token of the property only.
    package func setToken(_ token: String) { state.withLock { $0.token = Data(token.utf8) } }

    package func change(to phase: ActivityPhase) {
        setPhase(phase)
        phaseStreams.send(phase)
    }

    /// Sets the phase of the property only.
    package func setPhase(_ phase: ActivityPhase) { state.withLock { $0.phase = phase } }
}
