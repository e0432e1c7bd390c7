import RegistryCore

/// The counts of all apps together.
package struct Totals: Sendable, Hashable {
    /// The sums of the latest counts of every app. Every group is present.
    package internal(set) var counts: [APNSEnvironment: [Counts.Group: Int]]
    /// The age of the oldest of the latest counts. An app without counts contributes its own age.
    package internal(set) var age: Duration = .zero
    /// The time since the oldest expiry that no sweep has recorded; zero if there is none.
    package internal(set) var sweepLag: Duration = .zero
    package internal(set) var activeGuards = 0
    /// The audit events ever written by all instances, including those of failed transactions.
    package internal(set) var eventsWritten = 0

    init() {
        let nothing = Dictionary(uniqueKeysWithValues: Counts.Group.all.map { ($0, 0) })
        counts = Dictionary(uniqueKeysWithValues: APNSEnvironment.allCases.map { ($0, nothing) })
    }
}
