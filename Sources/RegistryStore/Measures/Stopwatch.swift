import Synchronization

/// Times one unit of work: its wait for a connection, and each batch or call on it.
///
/// The closure of a unit may be run again after an error that left nothing behind. What it does is one thing, so it is counted
/// once, when it has come to its end.
final class Stopwatch: Sendable {
    private struct State {
        var hasConnection = false
        /// When the statements began that are under way.
        var start: ContinuousClock.Instant?
    }

    private let waits: Histogram
    private let statements: Histogram?
    private let made = ContinuousClock.now
    private let state = Mutex(State())

    /// - Parameter work: what the unit's statements are counted as.
    init(_ measures: StoreMeasures, _ work: StoreMeasures.Work) {
        waits = measures.connectionWaits
        statements = measures.statements[work]
    }

    /// Runs statements, and counts how long they took. Those that fail may be run again: until then they are under way.
    func timing<Value>(_ body: () throws -> Value) rethrows -> Value { try timed(body).value }

    /// Does the same, and tells how long it was.
    func timed<Value>(_ body: () throws -> Value) rethrows -> (value: Value, time: Duration) {
        begin()
        let value = try body()
        return (value, end())
    }

    /// Counts what did not come to a good end, when it is not tried again.
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
