import RegistryCore
import Synchronization

/// Counts those who follow changes by a stream, so that they do not take all of an instance's connections.
final class FollowerCount: Sendable {
    /// The most streams of an instance.
    static let limit = 64

    private let count = Mutex(0)

    /// How many there are.
    var value: Int { count.withLock { $0 } }

    /// Begins a stream, which is over when what is returned has gone.
    ///
    /// - Throws: `unavailable` when there are as many as may be.
    func begin() throws(Problem) -> CountedCall {
        let hasRoom = count.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
        guard hasRoom else {
            var problem = Problem(
                .unavailable,
                "This instance has \(Self.limit) streams of changes, and takes no more. Ask for pages with `wait`, or later."
            )
            problem.retryAfter = .seconds(5)
            throw problem
        }
        return CountedCall { [self] in count.withLock { $0 -= 1 } }
    }
}
