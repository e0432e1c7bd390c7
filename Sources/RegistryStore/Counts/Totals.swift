import RegistryCore

package struct Totals: Sendable, Hashable {
    /// The sums of every app's latest counts. Every group is present.
    package internal(set) var counts: [APNSEnvironment: [Counts.Group: Int]]
    /// The greatest age of any app's latest counts. An app without counts contributes its own age.
    package internal(set) var age: Duration = .zero
    /// The time since the oldest expiry that a sweep has yet to record, or zero.
    package internal(set) var sweepLag: Duration = .zero
    package internal(set) var activeGuards = 0
    package internal(set) var oldSnapshot: DatabaseCondition.OldSnapshot?
    /// Audit events written by all instances, including failed transactions.
    package internal(set) var eventsWritten = 0

    init() {
        let nothing = Dictionary(uniqueKeysWithValues: Counts.Group.all.map { ($0, 0) })
        counts = Dictionary(uniqueKeysWithValues: APNSEnvironment.allCases.map { ($0, nothing) })
    }
}
