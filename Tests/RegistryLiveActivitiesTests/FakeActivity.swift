import Foundation
import RegistryClient
import RegistryClientTestSupport
import RegistryLiveActivities

/// An activity of a simulated phone. Its properties and its streams may say different things, as on a true one.
final class FakeActivity: PhoneActivity {
    private struct State: Sendable {
        var phase: ActivityPhase
        var token: Data?
    }

    let id: String
    let aliases: [String: String]
    let startsAt: Date?
    let tokenStreams = TestStreams<Data>()
    let phaseStreams = TestStreams<ActivityPhase>()
    private let state: Guarded<State>

    init(
        _ id: String,
        _ order: String? = nil,
        phase: ActivityPhase = .active,
        token: String? = nil,
        startsAt: Date? = nil
    ) {
        (self.id, self.startsAt) = (id, startsAt)
        aliases = ["liveactivityId": order ?? "order-of-\(id)"]
        state = Guarded(State(phase: phase, token: token.map { Data($0.utf8) }))
    }

    var phase: ActivityPhase { state.withLock { $0.phase } }
    var token: Data? { state.withLock { $0.token } }
    func tokens() -> AsyncStream<Data> { tokenStreams.subscribe() }
    func phases() -> AsyncStream<ActivityPhase> { phaseStreams.subscribe() }

    /// Ends as the app's own end does, which takes it off the screen at once.
    func end() async { changes(to: .dismissed) }

    /// Gets a token that both the property and the stream have.
    func gets(_ token: String) {
        keeps(token)
        says(token)
    }

    /// The stream alone has a token.
    func says(_ token: String) { tokenStreams.send(Data(token.utf8)) }

    /// The property alone has a token.
    func keeps(_ token: String) { state.withLock { $0.token = Data(token.utf8) } }

    func changes(to phase: ActivityPhase) {
        becomes(phase)
        phaseStreams.send(phase)
    }

    /// The property alone changes.
    func becomes(_ phase: ActivityPhase) { state.withLock { $0.phase = phase } }
}
