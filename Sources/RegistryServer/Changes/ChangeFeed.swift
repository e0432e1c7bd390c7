import Logging
import RegistryCore
import RegistryStore
import Synchronization

/// Reads the changes of each scope that somebody follows on this instance, once for all of its followers, and only while there
/// are any.
final class ChangeFeed: Sendable {
    /// The message to a follower.
    enum Message: Sendable {
        case batch(ChangeBatch)
        /// The last one: the time is over, the service ends, or the position is of no use any more.
        case end(Problem?)
    }

    /// A change is told within this and the time of a query.
    static let pollInterval = Duration.milliseconds(150)
    /// A follower hears of a position at least this often.
    private static let bookmarkInterval = Duration.seconds(10)
    /// How many events are read together.
    static let pageSize = 1000
    /// How many batches wait for a follower before they are left to read for themselves again.
    private static let mostWaiting = 16

    private struct Follower {
        let continuation: AsyncStream<Message>.Continuation
        let deadline: ContinuousClock.Instant
    }

    private struct Channel {
        var followers: [Int: Follower] = [:]
        /// Nil until the first snapshot was taken.
        var position: ChangePosition?
    }

    private struct State {
        var channels: [Scope: Channel] = [:]
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

    /// Follows a scope.
    ///
    /// The first message is an empty batch. Whoever reads the feed up to now *after* it misses nothing of what follows. A
    /// stream that finishes without a last message was too slow, and is to be followed anew.
    func follow(_ scope: Scope, until deadline: ContinuousClock.Instant) -> AsyncStream<Message> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Message.self,
            bufferingPolicy: .bufferingOldest(Self.mostWaiting)
        )
        let (number, isFirst) = state.withLock { state in
            state.lastNumber += 1
            let isFirst = state.channels[scope] == nil
            let follower = Follower(continuation: continuation, deadline: deadline)
            state.channels[scope, default: Channel()].followers[state.lastNumber] = follower
            if let position = state.channels[scope]?.position { continuation.yield(.batch(ChangeBatch([], position))) }
            return (state.lastNumber, isFirst)
        }
        continuation.onTermination = { [self] _ in
            state.withLock { $0.channels[scope]?.followers[number] = nil }
        }
        if isFirst { Task { await read(scope) } }
        return stream
    }

    /// How many scopes are read.
    var scopeCount: Int { state.withLock { $0.channels.count } }

    private func read(_ scope: Scope) async {
        var position: ChangePosition?
        var lastBookmark = ContinuousClock.now
        while keepsReading(scope) {
            do {
                if let known = position {
                    let page = try await registry.changes(after: known, limit: Self.pageSize, in: scope)
                    position = page.position
                    let isDue = lastBookmark.duration(to: .now) >= Self.bookmarkInterval
                    note(page.position, of: scope)
                    if !page.changes.isEmpty || isDue {
                        send(.batch(ChangeBatch(page)), to: scope)
                        lastBookmark = .now
                    }
                    if page.hasMore { continue }
                } else {
                    let present = try await registry.presentChangePosition()
                    position = present
                    note(present, of: scope)
                    send(.batch(ChangeBatch([], present)), to: scope)
                }
            } catch let problem as Problem where problem.code == .feedReset || problem.code == .feedExpired {
                // Of a standby that was promoted, most likely: all who follow begin anew.
                position = nil
                end(scope, problem)
            } catch {
                logger.debug("the change feed waits for Postgres", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    /// Lets those go whose time is over.
    ///
    /// - Returns: false when nobody follows any more: the scope is forgotten then.
    private func keepsReading(_ scope: Scope) -> Bool {
        let now = ContinuousClock.now
        let isOver = shutdownNotice.isGiven
        let (over, isEmpty) = state.withLock { state in
            let over = state.channels[scope]?.followers.filter { isOver || $0.value.deadline <= now } ?? [:]
            for number in over.keys { state.channels[scope]?.followers[number] = nil }
            let isEmpty = state.channels[scope]?.followers.isEmpty ?? true
            if isEmpty { state.channels[scope] = nil }
            return (over.values.map(\.continuation), isEmpty)
        }
        for continuation in over { Self.end(continuation, nil) }
        return !isEmpty
    }

    private func note(_ position: ChangePosition, of scope: Scope) {
        state.withLock { $0.channels[scope]?.position = position }
    }

    private func send(_ message: Message, to scope: Scope) {
        let followers = state.withLock { $0.channels[scope]?.followers ?? [:] }
        for (number, follower) in followers {
            guard case .dropped = follower.continuation.yield(message) else { continue }
            state.withLock { $0.channels[scope]?.followers[number] = nil }
            follower.continuation.finish()
        }
    }

    private func end(_ scope: Scope, _ problem: Problem) {
        let followers = state.withLock { state in
            defer {
                state.channels[scope]?.followers = [:]
                state.channels[scope]?.position = nil
            }
            return state.channels[scope]?.followers.values.map(\.continuation) ?? []
        }
        for continuation in followers { Self.end(continuation, problem) }
    }

    private static func end(_ continuation: AsyncStream<Message>.Continuation, _ problem: Problem?) {
        continuation.yield(.end(problem))
        continuation.finish()
    }
}
