/// A store's measures of its own work with Postgres, from its making on.
package struct StoreMeasures: Sendable {
    /// The work that requests share statements for.
    package enum SharedWork: String, Sendable, Hashable, CaseIterable {
        case registrations
        case resolutions
    }

    /// A kind of work on a connection: that which is shared, and all other reads and writes.
    package enum Work: String, Sendable, Hashable, CaseIterable {
        case registrations
        case resolutions
        case reads
        case writes
    }

    /// The batches of one kind of shared work.
    package struct Batches: Sendable {
        /// How many requests a batch had.
        package let sizes = Histogram(bounds: Histogram.sizes)
        /// How long a batch's first request waited for it, in seconds.
        package let waits = Histogram(bounds: Histogram.seconds)

        func record(size: Int, wait: Duration) {
            sizes.record(Double(size))
            waits.record(wait)
        }
    }

    /// By kind of work.
    package let batches: [SharedWork: Batches]
    /// How long the statements of a batch or call took on their connection, in seconds, by kind of work; where they had
    /// to be done again, all of it together.
    package let statements: [Work: Histogram]
    /// How long work waited for a connection, in seconds; that which got none, until it was given up.
    package let connectionWaits = Histogram(bounds: Histogram.seconds)

    init() {
        batches = Dictionary(uniqueKeysWithValues: SharedWork.allCases.map { ($0, Batches()) })
        statements = Dictionary(
            uniqueKeysWithValues: Work.allCases.map { ($0, Histogram(bounds: Histogram.seconds)) }
        )
    }
}
