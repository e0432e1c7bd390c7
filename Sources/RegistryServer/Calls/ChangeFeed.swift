import Logging
import RegistryCore
import RegistryStore
import Synchronization

/// Reads the changes of each followed scope once per instance.
final class ChangeFeed: Sendable {
    /// Finishes at the deadline and when the service stops. Fails if the position is invalid.
    typealias Batches = AsyncThrowingStream<ChangeBatch, any Error>

    /// The follower was too slow. It follows again.
    struct FollowerLags: Error {}

    /// Bounds the delay of a change, together with the time of a query.
    static let pollInterval = Duration.milliseconds(150)
    static let pageSize = 1000

    private struct Follower {
        let batches: Batches.Continuation
        let deadline: ContinuousClock.Instant
    }

    private struct Channel {
        var followers: [Int: Follower] = [:]
        var position: ChangePosition?
    }

    private let registry: Registry
    private let shutdownNotice: ShutdownNotice
    private let logger: Logger
    private let state = Mutex((channels: [Int64: Channel](), lastNumber: 0))

    init(registry: Registry, shutdownNotice: ShutdownNotice, logger: Logger) {
        (self.registry, self.shutdownNotice, self.logger) = (registry, shutdownNotice, logger)
    }

    /// The first batch is empty. Changes committed later are never missed, so read the feed up to the present *after* it.
    func follow(_ scope: Scope, until deadline: ContinuousClock.Instant) -> Batches {
        // Slower followers catch up with their own queries.
        let (stream, batches) = Batches.makeStream(bufferingPolicy: .bufferingOldest(16))
        let id = scope.id
        let (number, isFirst) = state.withLock { state in
            state.lastNumber += 1
            let isFirst = state.channels[id] == nil
            let follower = Follower(batches: batches, deadline: deadline)
            state.channels[id, default: Channel()].followers[state.lastNumber] = follower
            if let position = state.channels[id]?.position { batches.yield(ChangeBatch([], position)) }
            return (state.lastNumber, isFirst)
        }
        batches.onTermination = { [self] _ in
            state.withLock { $0.channels[id]?.followers[number] = nil }
        }
        // Detached, because it outlives the call that starts it, and must not inherit its deadline.
        if isFirst { Task.detached { await self.read(scope, id) } }
        return stream
    }

    var scopeCount: Int { state.withLock { $0.channels.count } }

    private func read(_ scope: Scope, _ id: Int64) async {
        var position: ChangePosition?
        var lastBookmark = ContinuousClock.now
        while keepsReading(id) {
            do {
                let (batch, hasMore) = try await readBatch(after: position, in: scope)
                let isDue = position == nil || lastBookmark.duration(to: .now) >= .seconds(10)
                position = batch.position
                state.withLock { $0.channels[id]?.position = batch.position }
                if !batch.changes.isEmpty || isDue {
                    send(batch, to: id)
                    lastBookmark = .now
                }
                if hasMore { continue }
            } catch let problem as Problem where problem.code == .feedReset || problem.code == .feedExpired {
                // Usually a promoted standby. All followers must start again.
                position = nil
                state.withLock { $0.channels[id]?.position = nil }
                removeFollowers(of: id) { _ in true }.forEach { $0.finish(throwing: problem) }
            } catch { logger.debug("the change feed waits for Postgres", metadata: ["error": "\(error)"]) }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    /// Without a position, the batch is empty and has the present one.
    func readBatch(after position: ChangePosition?, in scope: Scope) async throws -> (ChangeBatch, hasMore: Bool) {
        guard let position else { return (ChangeBatch([], try await registry.presentChangePosition()), false) }
        let page = try await registry.changes(after: position, limit: Self.pageSize, in: scope)
        return (ChangeBatch(page), page.hasMore)
    }

    /// Ends followers after their deadlines.
    ///
    /// - Returns: False without followers. The scope is then forgotten.
    private func keepsReading(_ id: Int64) -> Bool {
        let (now, isOver) = (ContinuousClock.now, shutdownNotice.isGiven)
        removeFollowers(of: id) { isOver || $0.deadline <= now }.forEach { $0.finish() }
        return state.withLock { state in
            let isEmpty = state.channels[id]?.followers.isEmpty ?? true
            if isEmpty { state.channels[id] = nil }
            return !isEmpty
        }
    }

    private func send(_ batch: ChangeBatch, to id: Int64) {
        let late = removeFollowers(of: id) { if case .dropped = $0.batches.yield(batch) { true } else { false } }
        late.forEach { $0.finish(throwing: FollowerLags()) }
    }

    private func removeFollowers(of id: Int64, where isOver: (Follower) -> Bool) -> [Batches.Continuation] {
        state.withLock { state in
            let over = state.channels[id]?.followers.filter { isOver($0.value) } ?? [:]
            for number in over.keys { state.channels[id]?.followers[number] = nil }
            return over.values.map(\.batches)
        }
    }
}

/// Streams changes as they happen.
///
/// A reader holds a few shared batches, and no connection, transaction or snapshot. A slow reader catches up with its
/// own queries.
struct ChangeStream: ResponseStream {
    let call: ScopedCall
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
            } catch let problem as Problem { return try await writer.write(format.encode(problem)) }
        }
    }

    private func follow(
        from position: inout ChangePosition,
        until deadline: ContinuousClock.Instant,
        _ writer: Exchange
    ) async throws {
        let (registry, scope) = (call.registry, call.scope)
        var batches = call.call.parts.changeFeed.follow(scope, until: deadline).makeAsyncIterator()
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
    /// Requests that wait for a page of changes; without a limit, a caller could abandon any number.
    static let limitOfWaits = 1024

    let limit: Int
    /// So that one app's followers leave room for the others.
    var limitOfKey: Int { limit / 2 }
    private let counts = Mutex<[UTF8Text: Int]>([:])
    var value: Int { counts.withLock { $0.values.reduce(0, +) } }

    init(limit: Int = FollowerCount.limit) { self.limit = limit }

    /// The stream or wait ends when the returned value is finished or deallocated.
    func countFollower(of key: UTF8Text) throws(Problem) -> Permit {
        let full: (limit: Int, owner: String)? = counts.withLock { counts in
            if counts.values.reduce(0, +) >= limit { return (limit, "This instance") }
            if counts[key, default: 0] >= limitOfKey { return (limitOfKey, "This key") }
            counts[key, default: 0] += 1
            return nil
        }
        if let full {
            let detail = "\(full.owner) has \(full.limit) streams of changes or waits for them, which is the maximum."
            let remedy = "Request pages without `wait`, or try again later."
            throw Problem(.unavailable, "\(detail) \(remedy)", retryAfter: .seconds(5))
        }
        return Permit { [self] in counts.withLock { $0[key, default: 1] -= 1 } }
    }
}
