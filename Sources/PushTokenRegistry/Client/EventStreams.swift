import Foundation

/// Streams of one source to several listeners. Each buffers the latest 100 elements, and ends with the source.
final class EventStreams<Element: Sendable>: Sendable {
    private let listeners = LockedValue<[AsyncStream<Element>.Continuation]>([])

    func stream(from first: Element? = nil) -> AsyncStream<Element> {
        let (stream, listener) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(100))
        if let first { listener.yield(first) }
        listeners.withLock { $0.append(listener) }
        return stream
    }

    func emit(_ element: Element) {
        listeners.withLock { listeners in
            listeners.removeAll { if case .terminated = $0.yield(element) { true } else { false } }
        }
    }

    deinit { listeners.withLock { for listener in $0 { listener.finish() } } }
}

/// The current state of each activity's registration, with its observers.
final class RegistrationStates: Sendable {
    private struct Line {
        var state = LiveActivityRegistry.Registration.waitingForToken
        /// Nil after the end, so that the streams end.
        var observers: EventStreams<LiveActivityRegistry.Registration>? = EventStreams()
    }

    private let lines = LockedValue<[String: Line]>([:])

    func stream(of id: String) -> AsyncStream<LiveActivityRegistry.Registration> {
        lines.withLock { lines in
            let line = lines[id, default: Line()]
            lines[id] = line
            return (line.observers ?? EventStreams()).stream(from: line.state)
        }
    }

    func set(_ state: LiveActivityRegistry.Registration, of id: String) {
        lines.withLock { lines in
            let line = lines[id, default: Line()]
            guard line.state != .ended, line.state != state else { return }
            line.observers?.emit(state)
            lines[id] = Line(state: state, observers: state == .ended ? nil : line.observers)
        }
    }
}

/// A value that one thread at a time accesses. `Mutex` needs iOS 18.
package final class LockedValue<Value: Sendable>: Sendable {
    private let lock = NSLock()
    private nonisolated(unsafe) var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
        lock.withLock { body(&value) }
    }
}
