import NIOCore
import RegistryCore
import RegistryStore

/// Changes as they arrive, while the reader takes them.
///
/// A reader holds only a few shared batches: no connection, no transaction, no snapshot. One that is too slow for them
/// catches up with pages of its own.
struct ChangeStream: ResponseStream {
    let registry: Registry
    let feed: ChangeFeed
    let scope: Scope
    let filter: ChangeFilter
    let format: ChangeFormat
    /// Read before the head is sent, so that an invalid position is still a 410.
    let first: ChangeBatch
    let follower: CountedCall

    /// After this the caller reconnects, and is authorized again: its key may have been revoked.
    static let lifetime = Duration.seconds(600)

    func write(to writer: Exchange) async throws {
        defer { withExtendedLifetime(follower) {} }
        try await writer.write(first.bytes(as: format, filter))
        let deadline = ContinuousClock.now + Self.lifetime
        var position = first.position
        do {
            while try await follow(from: &position, until: deadline, writer) {}
        } catch let problem as Problem {
            try await writer.write(format.encode(problem))
        }
    }

    /// - Returns: whether to follow anew.
    private func follow(
        from position: inout ChangePosition,
        until deadline: ContinuousClock.Instant,
        _ writer: Exchange
    ) async throws -> Bool {
        var messages = feed.follow(scope, until: deadline).makeAsyncIterator()
        guard let welcome = await messages.next() else { return true }
        if case .end(let problem) = welcome { return try Self.isOver(problem) }
        var hasMore = true
        while hasMore {
            let page = try await registry.changes(after: position, limit: ChangeFeed.pageSize, in: scope)
            if !page.changes.isEmpty { try await writer.write(ChangeBatch(page).bytes(as: format, filter)) }
            (position, hasMore) = (page.position, page.hasMore)
        }
        while let message = await messages.next() {
            switch message {
            case .batch(let batch):
                try await writer.write(batch.bytes(as: format, filter))
                position = batch.position
            case .end(let problem): return try Self.isOver(problem)
            }
        }
        return true
    }

    private static func isOver(_ problem: Problem?) throws -> Bool {
        if let problem { throw problem }
        return false
    }
}
