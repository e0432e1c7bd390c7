import RegistryCore

/// How much there is in the registry, of all apps together.
package struct Totals: Sendable, Hashable {
    /// The latest counts of every app, by environment; every group is there.
    package internal(set) var counts: [APNSEnvironment: [Counts.Group: Int]]
    /// How long ago the app was counted that was counted longest ago. An app that was never counted is as old as itself.
    package internal(set) var age: Duration = .zero
    /// For how long the oldest activity has been expired that no sweep has written down yet; zero when there is none.
    package internal(set) var sweepLag: Duration = .zero
    /// How many burst guards are on.
    package internal(set) var activeGuards = 0
    /// How many audit events were ever written, by all instances; those of failed transactions count, too.
    package internal(set) var eventsWritten = 0

    init() {
        let nothing = Dictionary(uniqueKeysWithValues: Counts.Group.all.map { ($0, 0) })
        counts = Dictionary(uniqueKeysWithValues: APNSEnvironment.allCases.map { ($0, nothing) })
    }
}
