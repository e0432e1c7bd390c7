import RegistryCore
import RegistryStore
import Synchronization

/// Streams changes as they happen.
///
/// A reader holds a few shared batches, and no connection, transaction or snapshot. A slow reader catches up with its
/// own queries.
struct ChangeStream: ResponseStream {
    let registry: Registry
    let feed: ChangeFeed
    let scope: Scope
    let filter: ChangeFilter
    let format: ChangeFormat
    /// Read before the head is sent, so that an invalid position is a 410.
    let first: ChangeBatch
    let follower: Permit

    /// The caller then reconnects and is authorized again, because its key can be revoked.
    static let lifetime = Duration.seconds(600)

    func write(to writer: Exchange) async throws {
        defer { withExtendedLifetime(follower) {} }
        try await writer.write(first.bytes(as: format, filter))
        let deadline = ContinuousClock.now + Self.lifetime
        var position = first.position
        while true {
            do {
                return try await follow(from: &position, until: deadline, writer)
            } catch is ChangeFeed.FollowerLags {
                continue
            } catch let problem as Problem {
                return try await writer.write(format.encode(problem))
            }
        }
    }

    private func follow(
        from position: inout ChangePosition,
        until deadline: ContinuousClock.Instant,
        _ writer: Exchange
    ) async throws {
        var batches = feed.follow(scope, until: deadline).makeAsyncIterator()
        guard try await batches.next() != nil else { return }
        var hasMore = true
        while hasMore {
            let page = try await registry.changes(after: position, limit: ChangeFeed.pageSize, in: scope)
            if !page.changes.isEmpty { try await writer.write(ChangeBatch(page).bytes(as: format, filter)) }
            (position, hasMore) = (page.position, page.hasMore)
        }
        while let batch = try await batches.next() {
            try await writer.write(batch.bytes(as: format, filter))
            position = batch.position
        }
    }
}

/// Limits change streams, so that they do not use all client connections of this instance.
final class FollowerCount: Sendable {
    static let limit = 64

    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }

    /// The stream ends when the returned value is finished or deallocated.
    func countFollower() throws(Problem) -> Permit {
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
        return Permit { [self] in count.withLock { $0 -= 1 } }
    }
}
