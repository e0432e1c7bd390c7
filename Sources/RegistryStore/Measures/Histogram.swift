import Synchronization

/// How often values of each size came, as Prometheus counts them: by upper bounds, with their sum.
///
/// To record costs one short lock, so that count and sum always belong together.
public final class Histogram: Sendable {
    /// What was counted until one moment.
    public struct Snapshot: Sendable, Hashable {
        /// The upper bounds, each of its own bucket, in ascending order.
        public let bounds: [Double]
        /// How many values each bucket has by itself; the last one has those above all bounds.
        public fileprivate(set) var counts: [Int]
        /// All values together.
        public fileprivate(set) var sum = 0.0

        /// How many values there were.
        public var count: Int { counts.reduce(0, +) }
    }

    /// Bounds for times in seconds: from half a millisecond, as a lookup takes, to the ten seconds after which requests
    /// are given up.
    public static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// Bounds for the sizes of batches, up to the largest.
    public static let sizes: [Double] = [1, 2, 4, 8, 16, 32, 64, 128]

    private let state: Mutex<Snapshot>

    /// - Parameter bounds: the upper bounds of the buckets, in ascending order.
    public init(bounds: [Double]) {
        state = Mutex(Snapshot(bounds: bounds, counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    /// What was counted so far.
    public var snapshot: Snapshot { state.withLock(\.self) }

    /// Counts a value.
    public func record(_ value: Double) {
        state.withLock { state in
            var bucket = 0
            while bucket < state.bounds.count, value > state.bounds[bucket] { bucket += 1 }
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    /// Counts a time, in seconds.
    public func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        record(Double(seconds) + Double(attoseconds) * 1e-18)
    }
}
