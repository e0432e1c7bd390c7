import Foundation
import RegistryClient
import RegistryLiveActivities

/// The phone of the demo: iOS as the client of an app sees it, with one type of activities and one activity.
final class DemoPhone: Phone, PhoneActivity {
    private struct State: Sendable {
        var phase: ActivityPhase?
        var token: Data?
    }

    static let type = "DeliveryAttributes"

    /// The id of the activity.
    let id: String
    /// The order that it shows.
    let order: String
    let startToken: Data
    private let state = Guarded(State())
    private let begun = AsyncStream.makeStream(of: (any PhoneActivity).self)
    private let phaseChanges = AsyncStream.makeStream(of: ActivityPhase.self)
    private let newTokens = AsyncStream.makeStream(of: Data.self)
    private let looks = AsyncStream.makeStream(of: PhoneMoment.self)

    init(activity id: String, order: String, startToken: Data) {
        (self.id, self.order, self.startToken) = (id, order, startToken)
    }

    /// The type; an app says `registry.follow(DeliveryAttributes.self) { ["liveactivityId": $0.orderID] }`.
    var followed: FollowedType {
        FollowedType(
            name: Self.type,
            activities: { self.state.withLock { $0.phase } == nil ? [] : [self] },
            newActivities: { self.begun.stream },
            startToken: { self.startToken },
            startTokens: { AsyncStream { _ in } }
        )
    }

    // MARK: Events

    /// A push starts the activity, and iOS gives it its first token.
    func begins(_ token: Data) {
        state.withLock { ($0.phase, $0.token) = (.active, token) }
        begun.continuation.yield(self)
    }

    /// iOS gives the activity another token.
    func rotates(_ token: Data) {
        state.withLock { $0.token = token }
        newTokens.continuation.yield(token)
    }

    /// The user swipes the activity away.
    func swipes() {
        state.withLock { $0.phase = .dismissed }
        phaseChanges.continuation.yield(.dismissed)
    }

    func isInBackground() async -> Bool { false }
    func stayAwake(_ body: @Sendable () async -> Void) async { await body() }

    func comesToForeground() { looks.continuation.yield(.foreground) }

    // MARK: Phone

    let areActivitiesEnabled = true
    let areFrequentPushesEnabled: Bool? = true
    func enablements() -> AsyncStream<Bool> { AsyncStream { _ in } }
    func isProtectedDataAvailable() async -> Bool { true }
    func moments() -> AsyncStream<PhoneMoment> { looks.stream }

    // MARK: PhoneActivity

    var aliases: [String: String] { ["liveactivityId": order] }
    var startsAt: Date? { nil }
    var phase: ActivityPhase { state.withLock { $0.phase ?? .pending } }
    var token: Data? { state.withLock { $0.token } }
    func tokens() -> AsyncStream<Data> { newTokens.stream }
    func phases() -> AsyncStream<ActivityPhase> { phaseChanges.stream }
    func end() async {}
}
