import Foundation
import RegistryCore

/// The history of one (liveactivityId, owner), divided into activities.
///
/// An owner has one running activity under an alias at a time. Ends divide the registrations by their `observedAt`, and
/// so does the lifetime: an observation after an activity's expiry begins the next one. The division is a pure function
/// of the requests, so late and repeated requests lead to an equal one (R0).
struct AliasTimeline {
    struct Registration: Hashable {
        let observedAt: Date
        let tokenDigest: [UInt8]
        /// The effective start: `startedAt` if given, else `observedAt`; no later than the receipt.
        let startedAt: Date
        /// When the activity is scheduled to start, where that counts.
        var startsAt: Date?
        /// The lifetime of the activity that it was merged into so far, nil for the request in hand.
        var lifetime: Duration?
        /// The activity that it was merged into so far, nil for the request in hand.
        var activityID: ActivityID?
        var key: Key { Key(observedAt: observedAt, tokenDigest: tokenDigest) }

        struct Key: Hashable {
            let observedAt: Date
            let tokenDigest: [UInt8]
        }
    }

    struct Generation: Hashable {
        private(set) var registrations: [Registration]
        private var startedAt: Date
        /// The first given stays, as registrations come in the order of their times (R6).
        private var startsAt: Date?
        /// That of the first receipt of its activity (R5).
        private var lifetime: Duration?

        fileprivate init(_ first: Registration) {
            registrations = [first]
            (startedAt, startsAt, lifetime) = (first.startedAt, first.startsAt, first.lifetime)
        }

        /// Adds the next registration, unless it was observed after the activity had expired.
        ///
        /// - Parameter usual: the lifetime of an activity that has none yet.
        fileprivate mutating func take(_ next: Registration, usual: Duration) -> Bool {
            let lifetime = lifetime ?? next.lifetime
            let start = startsAt.map { max($0, startedAt) } ?? startedAt
            let seconds = Double((lifetime ?? usual).components.seconds)
            guard next.observedAt < start.addingTimeInterval(seconds) else { return false }
            registrations.append(next)
            self.lifetime = lifetime
            startedAt = min(startedAt, next.startedAt)
            startsAt = startsAt ?? next.startsAt
            return true
        }

        var activityIDs: Set<ActivityID> { Set(registrations.compactMap(\.activityID)) }
    }

    /// The activities since the last end, oldest first; all but the last have expired.
    let generations: [Generation]

    /// - Parameters:
    ///   - registrations: all that were observed after `end`; others are left out.
    ///   - end: the greatest end, nil when there is none.
    ///   - lifetime: how long an activity runs from its start that is received for the first time now.
    init(_ registrations: some Sequence<Registration>, after end: Date?, lifetime: Duration) {
        var generations: [Generation] = []
        for registration in registrations.filter({ end.map($0.isAfter) ?? true }).sorted(by: Registration.precedes) {
            let last = generations.count - 1
            if last < 0 || !generations[last].take(registration, usual: lifetime) {
                generations.append(Generation(registration))
            }
        }
        self.generations = generations
    }

    /// The registrations since the last end that are kept.
    ///
    /// A late end or registration divides them again, each in a round trip. If more later ones are known, the dropped
    /// ones no longer count: the new activity starts with the first that is kept. No phone sends its requests in such
    /// an order.
    static let mostRegistrations = 32

    /// The registration that falls out first: the second one of the oldest activity, for the first one keeps its start;
    /// or the first one when it is alone.
    var surplus: Registration? {
        generations.first.map { $0.registrations.count > 1 ? $0.registrations[1] : $0.registrations[0] }
    }

    /// The id of a generation: the latest of its own that no earlier one has, else nil for a new one.
    func activityID(ofGeneration index: Int) -> ActivityID? {
        let earlier = generations[..<index].reduce(into: Set<ActivityID>()) { $0.formUnion($1.activityIDs) }
        return generations[index].activityIDs.subtracting(earlier).max()
    }
}

extension AliasTimeline.Registration {
    fileprivate func isAfter(_ end: Date) -> Bool { observedAt > end }

    fileprivate static func precedes(_ left: Self, _ right: Self) -> Bool {
        left.observedAt == right.observedAt
            ? left.tokenDigest.lexicographicallyPrecedes(right.tokenDigest) : left.observedAt < right.observedAt
    }
}
