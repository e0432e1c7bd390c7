/// Streams of one source to several listeners. Each buffers the latest 100 elements.
final class EventStreams<Element: Sendable>: Sendable {
    private let listeners = LockedValue<[AsyncStream<Element>.Continuation]>([])

    func stream() -> AsyncStream<Element> {
        let (stream, listener) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(100))
        listeners.withLock { $0.append(listener) }
        return stream
    }

    func emit(_ element: Element) { listeners.withLock { $0.removeAll { $0.hasEnded(after: element) } } }

    deinit { listeners.withLock { for listener in $0 { listener.finish() } } }
}

extension AsyncStream.Continuation where Element: Sendable {
    fileprivate func hasEnded(after element: Element) -> Bool {
        if case .terminated = yield(element) { true } else { false }
    }
}

/// The current state of each activity's registration, with its observers.
final class RegistrationStates: Sendable {
    private struct Line {
        var state = LiveActivityRegistry.Registration.waitingForToken
        var observers: [AsyncStream<LiveActivityRegistry.Registration>.Continuation] = []
    }

    private let lines = LockedValue<[String: Line]>([:])

    func stream(of id: String) -> AsyncStream<LiveActivityRegistry.Registration> {
        AsyncStream { observer in
            lines.withLock { lines in
                let line = lines[id, default: Line()]
                observer.yield(line.state)
                if line.state == .ended {
                    observer.finish()
                } else {
                    lines[id, default: line].observers.append(observer)
                }
            }
        }
    }

    func set(_ state: LiveActivityRegistry.Registration, of id: String) {
        lines.withLock { lines in
            var line = lines[id, default: Line()]
            guard line.state != .ended, line.state != state else { return }
            line.state = state
            line.observers.removeAll { $0.hasEnded(after: state) }
            if state == .ended { for observer in line.observers { observer.finish() } }
            lines[id] = line
        }
    }
}
