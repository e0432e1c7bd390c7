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
    func timing<Value>(_ body: () throws -> Value) rethrows -> Value {
        begin()
        let value = try body()
        end()
        return value
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

    private func end(at now: ContinuousClock.Instant = .now) {
        let start = state.withLock { state in
            defer { state.start = nil }
            return state.start
        }
        if let start { statements?.record(now - start) }
    }
}
