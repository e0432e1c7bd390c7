package struct StoreMetrics: Sendable {
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

    package let batches: [Work: Batches] = [.registrations: Batches(), .resolutions: Batches()]
    /// Time of a batch's or call's statements on the connection, in seconds, including retries.
    package let statements = Dictionary(
        uniqueKeysWithValues: Work.allCases.map { ($0, Histogram(bounds: Histogram.seconds)) }
    )
    /// Wait for a connection, in seconds. If none became free, the time until the work failed.
    package let connectionWaits = Histogram(bounds: Histogram.seconds)
}
