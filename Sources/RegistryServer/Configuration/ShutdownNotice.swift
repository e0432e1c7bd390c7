import Synchronization

/// Says that the service is about to end, from the signal on: its parts stop one after the other, and until the last
/// requests in flight are answered the admin port is still open.
package final class ShutdownNotice: Sendable {
    private let state = Atomic(false)

    /// Makes a notice that has not been given.
    package init() {}

    /// From now on the service is not ready.
    package func give() { state.store(true, ordering: .relaxed) }

    var isGiven: Bool { state.load(ordering: .relaxed) }
}
