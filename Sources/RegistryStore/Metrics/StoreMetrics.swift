package struct StoreMetrics: Sendable {
    /// The work for which requests share statements.
    package enum SharedWork: String, Sendable, Hashable, CaseIterable {
        case registrations
        case resolutions
    }

    /// A kind of work on a connection: shared work, and all other reads and writes.
    package enum Work: String, Sendable, Hashable, CaseIterable {
        case registrations
        case resolutions
        case reads
        case writes
    }

    package struct Batches: Sendable {
        package let sizes = Histogram(bounds: Histogram.sizes)
        /// The wait of a batch's first request, in seconds.
        package let waits = Histogram(bounds: Histogram.seconds)

        func record(size: Int, wait: Duration) {
            sizes.record(Double(size))
            waits.record(wait)
        }
    }

    package let batches: [SharedWork: Batches]
    /// The time of the statements of a batch or call on their connection, in seconds, by kind of work; retries
    /// included.
    package let statements: [Work: Histogram]
    /// The wait for a connection, in seconds; without one, until the work was given up.
    package let connectionWaits = Histogram(bounds: Histogram.seconds)

    init() {
        batches = Dictionary(uniqueKeysWithValues: SharedWork.allCases.map { ($0, Batches()) })
        statements = Dictionary(
            uniqueKeysWithValues: Work.allCases.map { ($0, Histogram(bounds: Histogram.seconds)) }
        )
    }
}
