import Synchronization

package struct StoreMetrics: Sendable {
    package enum Work: String, Sendable, Hashable, CaseIterable {
        case registrations
        case resolutions
        case reads
        case writes
    }

    package struct Batches: Sendable {
        package let sizes = Histogram(bounds: Histogram.sizes)
        package let waits = Histogram(bounds: Histogram.seconds)

        func record(size: Int, wait: Duration) {
            sizes.record(Double(size))
            waits.record(wait)
        }
    }

    package let batches: [Work: Batches] = [.registrations: Batches(), .resolutions: Batches()]
    /// Time of a batch's or call's statements on the connection, in seconds, including retries.
    package let statements = Dictionary(
        uniqueKeysWithValues: Work.allCases.map { ($0, Histogram(bounds: Histogram.seconds)) }
    )
    /// Wait for a connection, in seconds. If none became free, the time until the work failed.
    package let connectionWaits = Histogram(bounds: Histogram.seconds)
}

/// Counts values by upper bounds, with their sum, like a Prometheus histogram.
package final class Histogram: Sendable {
    package struct Snapshot: Sendable, Hashable {
        /// Upper bounds, ascending.
        package let bounds: [Double]
        /// Not cumulative. The last bucket counts values above all bounds.
        package fileprivate(set) var counts: [Int]
        package fileprivate(set) var sum = 0.0
        package var count: Int { counts.reduce(0, +) }
    }

    /// In seconds: from a lookup's duration to the time after which requests fail.
    package static let seconds = [
        0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    package static let sizes: [Double] = [1, 2, 4, 8, 16, 32, 64, 128]

    private let bounds: [Double]
    private let state: Mutex<Snapshot>

    package init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(Snapshot(bounds: bounds, counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    package var snapshot: Snapshot { state.withLock(\.self) }

    package func record(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    package func record(_ duration: Duration) { record(duration / .seconds(1)) }
}

/// Times one unit of work: its wait for a connection, and each batch or call. A retried unit counts once, when it ends.
final class Stopwatch: Sendable {
    private let waits: Histogram
    private let statements: Histogram?
    private let made = ContinuousClock.now
    private let state = Mutex<(hasConnection: Bool, start: ContinuousClock.Instant?)>((false, nil))

    init(_ metrics: StoreMetrics, _ work: StoreMetrics.Work) {
        waits = metrics.connectionWaits
        statements = metrics.statements[work]
    }

    /// Failed statements may be retried, so they count as running until then.
    func timed<Value>(_ body: () throws -> Value) rethrows -> (value: Value, time: Duration) {
        recordWait()
        state.withLock { $0.start = $0.start ?? .now }
        let value = try body()
        return (value, end())
    }

    func giveUp() {
        recordWait()
        end()
    }

    private func recordWait() {
        let isFirst = state.withLock { state in
            defer { state.hasConnection = true }
            return !state.hasConnection
        }
        if isFirst { waits.record(.now - made) }
    }

    @discardableResult private func end() -> Duration {
        let start = state.withLock { state in
            defer { state.start = nil }
            return state.start
        }
        guard let start else { return .zero }
        let time = ContinuousClock.now - start
        statements?.record(time)
        return time
    }
}
