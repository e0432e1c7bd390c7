import Logging
import RegistryCore
import RegistryStore
import Synchronization

/// Reads the changes of each followed scope of this instance, once for all of its followers, while there are any.
final class ChangeFeed: Sendable {
    enum Message: Sendable {
        case batch(ChangeBatch)
        /// The last one: the deadline passed, the service stops, or the position is no longer valid.
        case end(Problem?)
    }

    /// Bounds the delay of a change, together with the time of a query.
    static let pollInterval = Duration.milliseconds(150)
    /// The most time between two positions for a follower.
    private static let bookmarkInterval = Duration.seconds(10)
    static let pageSize = 1000
    /// The most batches that wait for a follower; a slower one must read for itself again.
    private static let mostWaiting = 16

    private struct Follower {
        let continuation: AsyncStream<Message>.Continuation
        let deadline: ContinuousClock.Instant
    }

    private struct Channel {
        var followers: [Int: Follower] = [:]
        /// Nil until the first snapshot.
        var position: ChangePosition?
    }

    /// A scope without its app's settings, which change.
    private struct Place: Hashable {
        let app: Int64
        let environment: APNSEnvironment

        init(_ scope: Scope) { (app, environment) = (scope.app.number, scope.environment) }
    }

    private struct State {
        var channels: [Place: Channel] = [:]
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

    /// The first message is an empty batch. A caller that reads the feed up to now *after* it misses no later change. A
    /// stream that finishes without a last message was too slow, and must be followed anew.
    func follow(_ scope: Scope, until deadline: ContinuousClock.Instant) -> AsyncStream<Message> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Message.self,
            bufferingPolicy: .bufferingOldest(Self.mostWaiting)
        )
        let place = Place(scope)
        let (number, isFirst) = state.withLock { state in
            state.lastNumber += 1
            let isFirst = state.channels[place] == nil
            let follower = Follower(continuation: continuation, deadline: deadline)
            state.channels[place, default: Channel()].followers[state.lastNumber] = follower
            if let position = state.channels[place]?.position { continuation.yield(.batch(ChangeBatch([], position))) }
            return (state.lastNumber, isFirst)
        }
        continuation.onTermination = { [self] _ in
            state.withLock { $0.channels[place]?.followers[number] = nil }
        }
        // Detached: it continues after the call that began it, without its deadline.
        if isFirst { Task.detached { await self.read(scope, place) } }
        return stream
    }

    var scopeCount: Int { state.withLock { $0.channels.count } }

    private func read(_ scope: Scope, _ place: Place) async {
        var position: ChangePosition?
        var lastBookmark = ContinuousClock.now
        while keepsReading(place) {
            do {
                if let known = position {
                    let page = try await registry.changes(after: known, limit: Self.pageSize, in: scope)
                    position = page.position
                    let isDue = lastBookmark.duration(to: .now) >= Self.bookmarkInterval
                    note(page.position, of: place)
                    if !page.changes.isEmpty || isDue {
                        send(.batch(ChangeBatch(page)), to: place)
                        lastBookmark = .now
                    }
                    if page.hasMore { continue }
                } else {
                    let present = try await registry.presentChangePosition()
                    position = present
                    note(present, of: place)
                    send(.batch(ChangeBatch([], present)), to: place)
                }
            } catch let problem as Problem where problem.code == .feedReset || problem.code == .feedExpired {
                // Most likely of a promoted standby: all followers begin anew.
                position = nil
                end(place, problem)
            } catch {
                logger.debug("the change feed waits for Postgres", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    /// Ends followers whose deadline has passed.
    ///
    /// - Returns: false if no followers are left; the scope is then forgotten.
    private func keepsReading(_ place: Place) -> Bool {
        let now = ContinuousClock.now
        let isOver = shutdownNotice.isGiven
        let (over, isEmpty) = state.withLock { state in
            let over = state.channels[place]?.followers.filter { isOver || $0.value.deadline <= now } ?? [:]
            for number in over.keys { state.channels[place]?.followers[number] = nil }
            let isEmpty = state.channels[place]?.followers.isEmpty ?? true
            if isEmpty { state.channels[place] = nil }
            return (over.values.map(\.continuation), isEmpty)
        }
        for continuation in over { Self.end(continuation, nil) }
        return !isEmpty
    }

    private func note(_ position: ChangePosition, of place: Place) {
        state.withLock { $0.channels[place]?.position = position }
    }

    private func send(_ message: Message, to place: Place) {
        let followers = state.withLock { $0.channels[place]?.followers ?? [:] }
        for (number, follower) in followers {
            guard case .dropped = follower.continuation.yield(message) else { continue }
            state.withLock { $0.channels[place]?.followers[number] = nil }
            follower.continuation.finish()
        }
    }

    private func end(_ place: Place, _ problem: Problem) {
        let followers = state.withLock { state in
            defer {
                state.channels[place]?.followers = [:]
                state.channels[place]?.position = nil
            }
            return state.channels[place]?.followers.values.map(\.continuation) ?? []
        }
        for continuation in followers { Self.end(continuation, problem) }
    }

    private static func end(_ continuation: AsyncStream<Message>.Continuation, _ problem: Problem?) {
        continuation.yield(.end(problem))
        continuation.finish()
    }
}
