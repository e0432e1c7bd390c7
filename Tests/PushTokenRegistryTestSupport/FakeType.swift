import Foundation
import PushTokenRegistry

/// A simulated attributes type, which outlives the app.
package final class FakeType: ActivityTypeAdapter {
    private struct State: Sendable {
        var listed: [FakeActivity] = []
        var startToken: Data?
        var isHidden = false
        var whileListing: (@Sendable () -> Void)?
    }

    package let name: String
    package let endsDuplicates: Bool
    package let pushType: FollowedPushType
    package let newStreams = TestStreams<any SystemActivity>()
    package let startTokenStreams = TestStreams<Data>()
    private let state = LockedValue(State())

    package init(_ name: String = "Delivery", endsDuplicates: Bool = true, pushType: FollowedPushType = .token) {
        (self.name, self.endsDuplicates, self.pushType) = (name, endsDuplicates, pushType)
    }

    /// All activities, including hidden ones.
    package var all: [FakeActivity] { state.withLock { $0.listed } }

    package func newActivities() -> AsyncStream<any SystemActivity> { newStreams.subscribe() }
    package func startToken() -> Data? { state.withLock { $0.startToken } }
    package func startTokens() -> AsyncStream<Data> { startTokenStreams.subscribe() }

    package var unhandled: Int {
        let activities = all.map { $0.tokenStreams.unhandled + $0.phaseStreams.unhandled }
        return activities.reduce(newStreams.unhandled + startTokenStreams.unhandled, +)
    }

    /// Hides the list, because ActivityKit's list is empty for a moment after a launch.
    package func setHidden(_ isHidden: Bool) { state.withLock { $0.isHidden = isHidden } }

    package func activities() -> [any SystemActivity] {
        let (listed, whileListing) = state.withLock { ($0.isHidden ? [] : $0.listed, $0.whileListing) }
        whileListing?()
        return listed
    }

    package func whileListing(_ body: (@Sendable () -> Void)?) { state.withLock { $0.whileListing = body } }

    /// Begins an activity in the list and the stream.
    package func begin(_ activity: FakeActivity) {
        addToList(activity)
        newStreams.send(activity)
    }

    package func addToList(_ activities: FakeActivity...) { state.withLock { $0.listed += activities } }

    package func removeFromList(_ id: String) { state.withLock { $0.listed.removeAll { $0.id == id } } }

    /// Sets the start token of the property only.
    package func setStartToken(_ startToken: String) { state.withLock { $0.startToken = Data(startToken.utf8) } }

    /// Delivers a start token by the stream only.
    package func streamStartToken(_ startToken: String) { startTokenStreams.send(Data(startToken.utf8)) }

    package func appDies() {
        newStreams.end()
        startTokenStreams.end()
        for activity in state.withLock({ $0.listed }) {
            activity.tokenStreams.end()
            activity.phaseStreams.end()
        }
    }
}
