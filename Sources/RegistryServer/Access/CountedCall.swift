import Synchronization

/// One call that is counted as under way, for as long as somebody holds on to this and does not say that it is over.
final class CountedCall: Sendable {
    private let end: @Sendable () -> Void
    private let isOver = Atomic(false)

    /// - Parameter end: counts the call no longer; called once.
    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { finish() }

    func finish() {
        if !isOver.exchange(true, ordering: .acquiringAndReleasing) { end() }
    }
}
