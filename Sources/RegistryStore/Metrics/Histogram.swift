import Synchronization

/// Counts values by upper bounds, with their sum, like a Prometheus histogram.
///
/// Recording takes two atomic additions. A concurrent snapshot may lack one.
package final class Histogram: Sendable {
    package struct Snapshot: Sendable, Hashable {
        /// Upper bounds, ascending.
        package let bounds: [Double]
        /// Not cumulative. The last bucket counts values above all bounds.
        package let counts: [Int]
        package let sum: Double
        package var count: Int { counts.reduce(0, +) }
    }

    /// In seconds: from a lookup's duration to the time after which requests fail.
    package static let seconds = [
        0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    package static let sizes: [Double] = [1, 2, 4, 8, 16, 32, 64, 128]

    private final class Bucket: Sendable {
        let count = Atomic<Int>(0)
    }

    private let bounds: [Double]
    private let buckets: [Bucket]
    /// The bits of a Double, because atomics have no floating-point addition.
    private let sum = Atomic<UInt64>(0)

    package init(bounds: [Double]) {
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in Bucket() }
    }

    package var snapshot: Snapshot {
        Snapshot(
            bounds: bounds,
            counts: buckets.map { $0.count.load(ordering: .relaxed) },
            sum: Double(bitPattern: sum.load(ordering: .relaxed))
        )
    }

    package func record(_ value: Double) {
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        buckets[bucket].count.wrappingAdd(1, ordering: .relaxed)
        add(value)
    }

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
