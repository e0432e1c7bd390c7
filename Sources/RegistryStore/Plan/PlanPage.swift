import RegistryCore
import RegistryRules

package struct PlanPage: Sendable, Hashable {
    package internal(set) var entries: [PlanEntry]
    package let channels: [BroadcastChannel]
    /// Contains the last activity's key and, among the installations, the last one's hash.
    package let next: ListPosition?
}

/// A page before leases are taken.
struct FoundPlan: Sendable {
    private(set) var lastActivity: Int64
    let channels: [BroadcastChannel]
    /// At first one more than fits the page, if available. Empty while more activities follow.
    private(set) var installations: [InstallationHash]
    private(set) var activities: [PlanUnit.Activity] = []
    private(set) var next: ListPosition?
    var phones: [PlanUnit.Phone] = []
    /// Read if the caller asked for it or the alias has a channel.
    var metadata = FoundMetadata()

    var hasChannel: Bool { !channels.isEmpty }

    /// - Parameters:
    ///   - activities: one more than fits the page, if available.
    ///   - last: the key of the last examined activity; nil if all activities were examined.
    mutating func add(_ activities: [PlanUnit.Activity], limit: Int, lookedThrough last: Int64?) {
        let page = activities.prefix(limit)
        self.activities = Array(page)
        let isFull = activities.count > limit
        lastActivity = (isFull ? nil : last) ?? page.last?.running.key ?? lastActivity
        guard isFull || last != nil else { return }
        next = ListPosition(number: lastActivity)
        installations = []
    }

    mutating func end(limit: Int) {
        let room = limit - activities.count
        guard installations.count > room else { return }
        installations.removeSubrange(room...)
        next = ListPosition(number: lastActivity, rest: installations.last?.bytes ?? [])
    }
}
