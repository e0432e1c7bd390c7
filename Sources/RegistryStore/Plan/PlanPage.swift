import RegistryCore
import RegistryRules

package enum PlanPosition: Sendable, Hashable {
    /// After the activity with this key; 0 before the first page.
    case activity(Int64)
    /// After the installation with this hash. `afterActivity` is the last key of the earlier pages' activities.
    case installation([UInt8], afterActivity: Int64)
    package static let start = PlanPosition.activity(0)
}

package struct PlanPage: Sendable, Hashable {
    package internal(set) var entries: [PlanEntry]
    package let channels: [BroadcastChannel]
    package let next: PlanPosition?
}

extension PlanPosition {
    var isAmongActivities: Bool {
        if case .activity = self { true } else { false }
    }

    var activity: Int64 {
        switch self {
        case .activity(let key), .installation(_, let key): key
        }
    }

    var installation: [UInt8] {
        if case .installation(let hash, _) = self { hash } else { [] }
    }
}

/// A page before leases are taken.
struct FoundPlan: Sendable {
    private(set) var lastActivity: Int64
    let channels: [BroadcastChannel]
    /// At first one more than fits the page, if available. Empty while more activities follow.
    private(set) var installations: [InstallationHash]
    private(set) var activities: [PlanUnit.Activity] = []
    private(set) var next: PlanPosition?
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
        next = .activity(lastActivity)
        installations = []
    }

    mutating func end(limit: Int) {
        let room = limit - activities.count
        guard installations.count > room else { return }
        installations.removeSubrange(room...)
        next = .installation(installations.last?.bytes ?? [], afterActivity: lastActivity)
    }
}
