import RegistryCore

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
    private(set) var entries: [PlanEntry] = []
    let channels: [BroadcastChannel]
    /// Empty while more activities follow.
    private(set) var installations: [InstallationHash]
    private(set) var lastActivity: Int64
    private(set) var next: PlanPosition?
    var phones: [PlanUnit.Phone] = []

    var hasChannel: Bool { !channels.isEmpty }

    /// - Parameter installations: one more than fits the page, if available.
    init(lastActivity: Int64, channels: [BroadcastChannel], installations: [InstallationHash]) {
        self.lastActivity = lastActivity
        self.channels = channels
        self.installations = installations
    }

    /// - Parameters:
    ///   - activities: one more than fits the page, if available.
    ///   - last: the key of the last examined activity; nil if all were examined.
    mutating func add(_ activities: [(key: Int64, entry: PlanEntry)], limit: Int, lookedThrough last: Int64?) {
        let page = activities.prefix(limit)
        entries = page.map(\.entry)
        let isFull = activities.count > limit
        lastActivity = (isFull ? nil : last) ?? page.last?.key ?? lastActivity
        guard isFull || last != nil else { return }
        next = .activity(lastActivity)
        installations = []
    }

    mutating func end(limit: Int) {
        let room = limit - entries.count
        guard installations.count > room else { return }
        installations.removeSubrange(room...)
        next = .installation(installations.last?.bytes ?? [], afterActivity: lastActivity)
    }
}
