import Synchronization

/// Times one unit of work: its wait for a connection, and each batch or call. A retried unit counts once, when it ends.
final class Stopwatch: Sendable {
    private struct State {
        var hasConnection = false
        var start: ContinuousClock.Instant?
    }

    private let waits: Histogram
    private let statements: Histogram?
    private let made = ContinuousClock.now
    private let state = Mutex(State())

    init(_ metrics: StoreMetrics, _ work: StoreMetrics.Work) {
        waits = metrics.connectionWaits
        statements = metrics.statements[work]
    }

    /// Failed statements may be retried, so they count as running until then.
    func timed<Value>(_ body: () throws -> Value) rethrows -> (value: Value, time: Duration) {
        begin()
        let value = try body()
        return (value, end())
    }

    func giveUp() {
        let now = ContinuousClock.now
        if state.withLock({ !$0.hasConnection }) { waits.record(now - made) }
        end(at: now)
    }

    private func begin() {
        let now = ContinuousClock.now
        let isFirst = state.withLock { state in
            defer { state.hasConnection = true }
            state.start = state.start ?? now
            return !state.hasConnection
        }
        if isFirst { waits.record(now - made) }
    }

    @discardableResult private func end(at now: ContinuousClock.Instant = .now) -> Duration {
        let start = state.withLock { state in
            defer { state.start = nil }
            return state.start
        }
        guard let start else { return .zero }
        statements?.record(now - start)
        return now - start
    }
}
