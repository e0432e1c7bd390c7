import Synchronization

/// Signals the start of a shutdown. The admin port still answers until the last request in flight is complete.
package final class ShutdownNotice: Sendable {
    private let state = Atomic(false)

    package init() {}

    package func give() { state.store(true, ordering: .relaxed) }

    var isGiven: Bool { state.load(ordering: .relaxed) }
}
