import Foundation

/// The history of one (liveactivityId, owner), divided into activities.
///
/// An owner has one running activity under an alias at a time. Ends divide the registrations by their `observedAt`,
/// and so does the lifetime: whatever was observed after an activity had expired begins the next one. The division
/// is a plain function of what was said, so late and repeated requests lead to the same one (R0).
struct AliasTimeline {
    struct Registration: Hashable {
        let observedAt: Date
        let tokenDigest: [UInt8]
        /// What counts for the activity's start: `startedAt` where it was said, else `observedAt`.
        let startedAt: Date
        /// The activity that it was merged into so far, nil for the request in hand.
        var activityID: String?
    }

    struct Generation: Hashable {
        var startedAt: Date
        var registrations: [Registration]

        /// The ids that its registrations were merged into so far.
        var activityIDs: Set<String> { Set(registrations.compactMap(\.activityID)) }
    }

    /// The activities since the last end, oldest first; all but the last have expired by what was said.
    let generations: [Generation]

    /// - Parameters:
    ///   - registrations: all that were observed after `end`; others are left out.
    ///   - end: the greatest end, nil when there is none.
    ///   - lifetime: how long an activity runs from its start.
    init(_ registrations: some Sequence<Registration>, after end: Date?, lifetime: Duration) {
        let seconds = Double(lifetime.components.seconds)
        var generations: [Generation] = []
        for registration in registrations.filter({ end.map($0.isAfter) ?? true }).sorted(by: Registration.precedes) {
            if let last = generations.last, registration.observedAt < last.startedAt.addingTimeInterval(seconds) {
                generations[generations.count - 1].registrations.append(registration)
                generations[generations.count - 1].startedAt = min(last.startedAt, registration.startedAt)
            } else {
                let start = min(registration.startedAt, registration.observedAt)
                generations.append(Generation(startedAt: start, registrations: [registration]))
            }
        }
        self.generations = generations
    }

    /// The id under which a generation goes on: the latest of its own that no earlier one has, else nil for a new one.
    func activityID(ofGeneration index: Int) -> String? {
        let earlier = generations[..<index].reduce(into: Set<String>()) { $0.formUnion($1.activityIDs) }
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
