/// The streams of events that somebody listens to.
final class EventStreams: Sendable {
    private let listeners = Guarded<[UInt64: AsyncStream<RegistryEvent>.Continuation]>([:])

    /// A stream of all events from now on. Whoever does not listen misses the older ones of more than a hundred.
    func stream() -> AsyncStream<RegistryEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(100)) { continuation in
            let id = UInt64.random(in: .min ... .max)
            listeners.withLock { $0[id] = continuation }
            continuation.onTermination = { [weak self] _ in
                self?.listeners.withLock { $0[id] = nil }
            }
        }
    }

    func tell(_ event: RegistryEvent) {
        for listener in listeners.withLock({ Array($0.values) }) { listener.yield(event) }
    }

    deinit { for listener in listeners.withLock({ Array($0.values) }) { listener.finish() } }
}
