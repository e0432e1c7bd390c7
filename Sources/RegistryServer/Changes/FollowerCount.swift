import RegistryCore
import Synchronization

/// Limits change streams, so that they do not use all client connections of this instance.
final class FollowerCount: Sendable {
    static let limit = 64

    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }

    /// The stream ends when the returned value is finished or deallocated.
    func countFollower() throws(Problem) -> CountedCall {
        let hasRoom = count.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
        guard hasRoom else {
            var problem = Problem(
                .unavailable,
                "This instance has \(Self.limit) streams of changes, which is the maximum. Request pages with `wait`, or try again later."
            )
            problem.retryAfter = .seconds(5)
            throw problem
        }
        return CountedCall { [self] in count.withLock { $0 -= 1 } }
    }
}
