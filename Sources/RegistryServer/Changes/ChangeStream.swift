import Hummingbird
import NIOCore
import RegistryCore
import RegistryStore

/// Changes as they come, for as long as the reader takes them.
///
/// Nothing is held for a reader but a few batches that all share: no connection, no transaction, no snapshot. Who reads too
/// slowly for that is left behind, and catches up by pages of their own.
struct ChangeStream: AnswerStream {
    let registry: Registry
    let feed: ChangeFeed
    let scope: Scope
    let filter: ChangeFilter
    let format: ChangeFormat
    /// The first changes, read before the head is sent, so that a position that is of no use is still a 410.
    let first: ChangeBatch
    let follower: CountedCall

    /// After this the caller connects anew, and shows whether they may still read: a key may have been revoked.
    static let lifetime = Duration.seconds(600)

    func write(to writer: inout any ResponseBodyWriter) async throws {
        defer { withExtendedLifetime(follower) {} }
        try await writer.write(first.bytes(as: format, filter))
        let deadline = ContinuousClock.now + Self.lifetime
        var position = first.position
        do {
            while try await follow(from: &position, until: deadline, &writer) {}
        } catch let problem as Problem {
            try await writer.write(format.encode(problem))
        }
        try await writer.finish(nil)
    }

    /// - Returns: whether it is to be followed anew.
    private func follow(
        from position: inout ChangePosition,
        until deadline: ContinuousClock.Instant,
        _ writer: inout any ResponseBodyWriter
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
