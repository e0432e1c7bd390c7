import RegistryCore
import RegistryRules

extension Registry {
    /// The push for each phone, with leases for the activities that the caller must start.
    ///
    /// A phone with several running activities under the alias has an entry for each. The leases are committed on
    /// return.
    package func plan(
        _ request: PlanRequest,
        after position: ListPosition = .start,
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> PlanPage {
        let unit = PlanUnit(request: request, scope: scope, who: who)
        let found = try await read { try unit.findPage(after: position, $0) }
        let starts = found.phones.filter { $0.decision.lease != nil }
        var taken: [InstallationHash: PlanDecision] = [:]
        if !starts.isEmpty {
            taken = try await transact { transaction, _ in
                try unit.takeLeases(starts, hasChannel: found.hasChannel, in: transaction)
            }
        }
        var entries = found.activities.map { found.entry($0.decision, $0.installation, key: $0.running.key) }
        for phone in found.phones {
            let hash = phone.facts.installation
            let decision = phone.decision.lease.flatMap { _ in taken[hash] } ?? phone.decision
            let entry = found.entry(decision, hash, key: phone.facts.running?.key)
            if let index = phone.index { entries[index] = entry } else { entries.append(entry) }
        }
        let metadata = request.includesMetadata ? found.metadata : nil
        return PlanPage(entries: entries, channels: found.channels, metadata: metadata, next: found.next)
    }

    package func release(_ lease: LeaseID, in scope: Scope, by who: UTF8Text) async throws {
        try await transact { transaction, _ in
            try scope.end([lease], .leaseReleased, by: who, in: transaction) { $0.release(at: $1) }
        }
    }
}

package struct PlanPage: Sendable, Hashable {
    package let entries: [PlanEntry]
    package let channels: [BroadcastChannel]
    package let metadata: FoundMetadata?
    package let next: ListPosition?
}

struct FoundPlan: Sendable {
    private(set) var lastActivity: Int64
    let channels: [BroadcastChannel]
    /// At first one more than fits the page, if available. Empty while more activities follow.
    private(set) var installations: [InstallationHash]
    private(set) var activities: [PlanUnit.Activity] = []
    private(set) var next: ListPosition?
    var phones: [PlanUnit.Phone] = []
    /// Read if the caller asked for it or the alias has a channel.
    var metadata: FoundMetadata?

    var hasChannel: Bool { !channels.isEmpty }

    func entry(_ decision: PlanDecision, _ installation: InstallationHash?, key: Int64?) -> PlanEntry {
        let phone = installation.flatMap { metadata?.installations[$0] }
        let channelID = phone?.supportsChannels == true ? channels.first?.id : nil
        return PlanEntry(installation: installation, key: key, decision: decision, channelID: channelID)
    }

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
