import Synchronization

/// Counts as in flight until it is finished or deallocated.
final class CountedCall: Sendable {
    private let end: @Sendable () -> Void
    private let isOver = Atomic(false)
    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { finish() }

    func finish() {
        if !isOver.exchange(true, ordering: .acquiringAndReleasing) { end() }
    }
}
