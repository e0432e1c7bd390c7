import PushTokenRegistry

package final class TestStreams<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
        var count = 0
    }

    private let state = LockedValue(State())

    package init() {}

    package var listeners: Int { state.withLock { $0.listeners.count } }

    package func subscribe() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        let id = state.withLock { state in
            state.count += 1
            state.listeners[state.count] = continuation
            return state.count
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[id] = nil } }
        return stream
    }

    package func send(_ element: Element) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(element) }
    }

    /// Ends all streams, like the death of the listening process.
    package func end() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
    }
}
