import Logging
import RegistryCore
import RegistryStore
import Synchronization

/// Reads the changes of each followed scope once per instance.
final class ChangeFeed: Sendable {
    enum Message: Sendable {
        case batch(ChangeBatch)
        /// The last message: the deadline passed, the service stops, or the position is invalid.
        case end(Problem?)
    }

    /// Bounds the delay of a change, together with the time of a query.
    static let pollInterval = Duration.milliseconds(150)
    /// The maximum time between two positions.
    private static let bookmarkInterval = Duration.seconds(10)
    static let pageSize = 1000
    /// Batches buffered per follower. Slower followers catch up with their own queries.
    private static let mostWaiting = 16

    private struct Follower {
        let continuation: AsyncStream<Message>.Continuation
        let deadline: ContinuousClock.Instant
    }

    private struct Channel {
        var followers: [Int: Follower] = [:]
        var position: ChangePosition?
    }

    private struct State {
        var channels: [Int64: Channel] = [:]
        var lastNumber = 0
    }

    private let registry: Registry
    private let shutdownNotice: ShutdownNotice
    private let logger: Logger
    private let state = Mutex(State())

    init(registry: Registry, shutdownNotice: ShutdownNotice, logger: Logger) {
        self.registry = registry
        self.shutdownNotice = shutdownNotice
        self.logger = logger
    }

    /// The first message is an empty batch. Changes committed later are never missed, so read the feed up to the
    /// present *after* it. A stream that finishes without an `end` message was too slow. Follow again.
    func follow(_ scope: Scope, until deadline: ContinuousClock.Instant) -> AsyncStream<Message> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Message.self,
            bufferingPolicy: .bufferingOldest(Self.mostWaiting)
        )
        let id = scope.id
        let (number, isFirst) = state.withLock { state in
            state.lastNumber += 1
            let isFirst = state.channels[id] == nil
            let follower = Follower(continuation: continuation, deadline: deadline)
            state.channels[id, default: Channel()].followers[state.lastNumber] = follower
            if let position = state.channels[id]?.position { continuation.yield(.batch(ChangeBatch([], position))) }
            return (state.lastNumber, isFirst)
        }
        continuation.onTermination = { [self] _ in
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
                if let known = position {
                    let page = try await registry.changes(after: known, limit: Self.pageSize, in: scope)
                    position = page.position
                    let isDue = lastBookmark.duration(to: .now) >= Self.bookmarkInterval
                    recordPosition(page.position, of: id)
                    if !page.changes.isEmpty || isDue {
                        send(.batch(ChangeBatch(page)), to: id)
                        lastBookmark = .now
                    }
                    if page.hasMore { continue }
                } else {
                    let present = try await registry.presentChangePosition()
                    position = present
                    recordPosition(present, of: id)
                    send(.batch(ChangeBatch([], present)), to: id)
                }
            } catch let problem as Problem where problem.code == .feedReset || problem.code == .feedExpired {
                // Usually a promoted standby. All followers must start again.
                position = nil
                end(id, problem)
            } catch {
                logger.debug("the change feed waits for Postgres", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    /// Ends followers after their deadlines.
    ///
    /// - Returns: False without followers. The scope is then forgotten.
    private func keepsReading(_ id: Int64) -> Bool {
        let now = ContinuousClock.now
        let isOver = shutdownNotice.isGiven
        let (over, isEmpty) = state.withLock { state in
            let over = state.channels[id]?.followers.filter { isOver || $0.value.deadline <= now } ?? [:]
            for number in over.keys { state.channels[id]?.followers[number] = nil }
            let isEmpty = state.channels[id]?.followers.isEmpty ?? true
            if isEmpty { state.channels[id] = nil }
            return (over.values.map(\.continuation), isEmpty)
        }
        for continuation in over { Self.end(continuation, nil) }
        return !isEmpty
    }

    private func recordPosition(_ position: ChangePosition, of id: Int64) {
        state.withLock { $0.channels[id]?.position = position }
    }

    private func send(_ message: Message, to id: Int64) {
        let followers = state.withLock { $0.channels[id]?.followers ?? [:] }
        for (number, follower) in followers {
            guard case .dropped = follower.continuation.yield(message) else { continue }
            state.withLock { $0.channels[id]?.followers[number] = nil }
            follower.continuation.finish()
        }
    }

    private func end(_ id: Int64, _ problem: Problem) {
        let followers = state.withLock { state in
            defer {
                state.channels[id]?.followers = [:]
                state.channels[id]?.position = nil
            }
            return state.channels[id]?.followers.values.map(\.continuation) ?? []
        }
        for continuation in followers { Self.end(continuation, problem) }
    }

    private static func end(_ continuation: AsyncStream<Message>.Continuation, _ problem: Problem?) {
        continuation.yield(.end(problem))
        continuation.finish()
    }
}
