import Foundation
import PushTokenRegistry

/// A type of attributes on a simulated phone, which outlives the app as a true one does.
package final class FakeType: Sendable {
    private struct State: Sendable {
        var listed: [FakeActivity] = []
        var startToken: Data?
        var reads = 0
        var isHidden = false
        var whileListing: (@Sendable () -> Void)?
    }

    package let name: String
    package let newStreams = TestStreams<any SystemActivity>()
    package let startTokenStreams = TestStreams<Data>()
    private let state = LockedValue(State())

    package init(_ name: String = "Delivery") { self.name = name }

    package var followed: ActivityTypeAdapter {
        ActivityTypeAdapter(
            name: name,
            activities: { self.list() },
            newActivities: { self.newStreams.subscribe() },
            startToken: { self.state.withLock { $0.startToken } },
            startTokens: { self.startTokenStreams.subscribe() }
        )
    }

    /// All that there is, whatever the app is shown.
    package var activities: [FakeActivity] { state.withLock { $0.listed } }
    package var startToken: Data? { state.withLock { $0.startToken } }

    /// The list is empty for a moment after a launch, as ActivityKit's is.
    package func hides(_ isHidden: Bool) { state.withLock { $0.isHidden = isHidden } }

    /// How often the list was read.
    package var reads: Int { state.withLock { $0.reads } }

    private func list() -> [any SystemActivity] {
        let (listed, whileListing) = state.withLock { state in
            state.reads += 1
            return (state.isHidden ? [] : state.listed, state.whileListing)
        }
        whileListing?()
        return listed
    }

    /// Something happens each time while the list is read.
    package func whileListing(_ body: (@Sendable () -> Void)?) { state.withLock { $0.whileListing = body } }

    /// An activity begins, which both the list and the stream have.
    package func begins(_ activity: FakeActivity) {
        lists(activity)
        newStreams.send(activity)
    }

    /// The list alone has it.
    package func lists(_ activities: FakeActivity...) { state.withLock { $0.listed += activities } }

    /// It leaves the list.
    package func unlists(_ id: String) { state.withLock { $0.listed.removeAll { $0.id == id } } }

    /// The property alone has a start token, and the stream says nothing of it.
    package func keeps(startToken: String) { state.withLock { $0.startToken = Data(startToken.utf8) } }

    /// The stream alone has it.
    package func says(startToken: String) { startTokenStreams.send(Data(startToken.utf8)) }

    package func appDies() {
        newStreams.end()
        startTokenStreams.end()
        for activity in state.withLock({ $0.listed }) {
            activity.tokenStreams.end()
            activity.phaseStreams.end()
        }
    }
}
