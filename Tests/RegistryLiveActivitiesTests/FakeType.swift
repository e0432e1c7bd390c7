import Foundation
import RegistryClient
import RegistryClientTestSupport
import RegistryLiveActivities

/// A type of attributes on a simulated phone, which outlives the app as a true one does.
final class FakeType: Sendable {
    private struct State: Sendable {
        var listed: [FakeActivity] = []
        var startToken: Data?
        var reads = 0
        var whileListing: (@Sendable () -> Void)?
    }

    let name: String
    let newStreams = TestStreams<any PhoneActivity>()
    let startTokenStreams = TestStreams<Data>()
    private let state = Guarded(State())

    init(_ name: String = "Delivery") { self.name = name }

    var followed: FollowedType {
        FollowedType(
            name: name,
            activities: { self.list() },
            newActivities: { self.newStreams.subscribe() },
            startToken: { self.state.withLock { $0.startToken } },
            startTokens: { self.startTokenStreams.subscribe() }
        )
    }

    /// How often the list was read.
    var reads: Int { state.withLock { $0.reads } }

    private func list() -> [any PhoneActivity] {
        let (listed, whileListing) = state.withLock { state in
            state.reads += 1
            return (state.listed, state.whileListing)
        }
        whileListing?()
        return listed
    }

    /// Something happens each time while the list is read.
    func whileListing(_ body: (@Sendable () -> Void)?) { state.withLock { $0.whileListing = body } }

    /// An activity begins, which both the list and the stream have.
    func begins(_ activity: FakeActivity) {
        lists(activity)
        newStreams.send(activity)
    }

    /// The list alone has it.
    func lists(_ activities: FakeActivity...) { state.withLock { $0.listed += activities } }

    /// It leaves the list.
    func unlists(_ id: String) { state.withLock { $0.listed.removeAll { $0.id == id } } }

    /// The property alone has a start token, and the stream says nothing of it.
    func keeps(startToken: String) { state.withLock { $0.startToken = Data(startToken.utf8) } }

    /// The stream alone has it.
    func says(startToken: String) { startTokenStreams.send(Data(startToken.utf8)) }

    func appDies() {
        newStreams.end()
        startTokenStreams.end()
        for activity in state.withLock({ $0.listed }) {
            activity.tokenStreams.end()
            activity.phaseStreams.end()
        }
    }
}
