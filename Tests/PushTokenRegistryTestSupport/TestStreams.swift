import PushTokenRegistry

package final class TestStreams<Element: Sendable>: Sendable {
    private struct Listener: Sendable {
        let continuation: AsyncStream<Element>.Continuation
        /// Begins with one, because a listener that has not asked for an element has not begun to listen.
        var unhandled = 1
    }

    private struct State: Sendable {
        var listeners: [Int: Listener] = [:]
        var count = 0
    }

    private let state = LockedValue(State())

    package init() {}

    package var listeners: Int { state.withLock { $0.listeners.count } }

    /// The elements whose listener has not asked for the next one.
    package var unhandled: Int { state.withLock { $0.listeners.values.reduce(0) { $0 + $1.unhandled } } }

    package func subscribe() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        let id = state.withLock { state in
            state.count += 1
            state.listeners[state.count] = Listener(continuation: continuation)
            return state.count
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[id] = nil } }
        return AsyncStream { [weak self] in
            self?.state.withLock { $0.listeners[id]?.unhandled -= 1 }
            return await stream.first { _ in true }
        }
    }

    package func send(_ element: Element) {
        let listeners = state.withLock { state in
            for id in state.listeners.keys { state.listeners[id]?.unhandled += 1 }
            return state.listeners.values.map(\.continuation)
        }
        for listener in listeners { listener.yield(element) }
    }

    /// Ends all streams, like the death of the listening process.
    package func end() {
        for listener in state.withLock({ $0.listeners.values.map(\.continuation) }) { listener.finish() }
    }
}
