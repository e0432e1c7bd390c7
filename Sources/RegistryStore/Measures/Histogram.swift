import Synchronization

/// How often values of each size came, as Prometheus counts them: by upper bounds, with their sum.
///
/// To record costs two additions that nobody waits for. A snapshot that is taken meanwhile may lack one of the two.
package final class Histogram: Sendable {
    /// The counts up to one moment.
    package struct Snapshot: Sendable, Hashable {
        /// The upper bounds, each of its own bucket, in ascending order.
        package let bounds: [Double]
        /// How many values each bucket has by itself; the last one has those above all bounds.
        package let counts: [Int]
        /// All values together.
        package let sum: Double

        /// How many values there were.
        package var count: Int { counts.reduce(0, +) }
    }

    /// Bounds for times in seconds: from a quarter of a millisecond, as a lookup takes, to the ten seconds after which
    /// requests are given up.
    package static let seconds = [
        0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    /// Bounds for the sizes of batches, up to the largest.
    package static let sizes: [Double] = [1, 2, 4, 8, 16, 32, 64, 128]

    private final class Bucket: Sendable {
        let count = Atomic<Int>(0)
    }

    private let bounds: [Double]
    private let buckets: [Bucket]
    /// The bits of the sum, for there are no atomic additions of fractions.
    private let sum = Atomic<UInt64>(0)

    /// - Parameter bounds: the upper bounds of the buckets, in ascending order.
    package init(bounds: [Double]) {
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in Bucket() }
    }

    /// The counts so far.
    package var snapshot: Snapshot {
        Snapshot(
            bounds: bounds,
            counts: buckets.map { $0.count.load(ordering: .relaxed) },
            sum: Double(bitPattern: sum.load(ordering: .relaxed))
        )
    }

    /// Counts a value.
    package func record(_ value: Double) {
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        buckets[bucket].count.wrappingAdd(1, ordering: .relaxed)
        add(value)
    }

    /// Counts a time, in seconds.
    package func record(_ duration: Duration) { record(duration / .seconds(1)) }

    private func add(_ value: Double) {
        var old = sum.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + value).bitPattern
            let (isDone, now) = sum.compareExchange(expected: old, desired: new, ordering: .relaxed)
            if isDone { return }
            old = now
        }
    }
}
