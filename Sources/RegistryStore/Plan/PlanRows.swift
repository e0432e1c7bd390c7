import Crypto
import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension PlanFacts {
    /// A row of `plan.read-activities`.
    init(of installation: InstallationHash, _ row: NamedRow) throws {
        self.init(installation: installation)
        registeredAt = try row["registered_at"]
        newestAt = try row["newest_at"]
        wasDismissed = try row["was_dismissed"]
        running = try (row["activity_key"] as Int64?) == nil ? nil : PlanFacts.RunningActivity(row: row)
    }
}

/// A start or device token: a row of `plan.read-tokens`.
struct DeliverableToken: DecodableRow {
    let installation: InstallationHash
    let kind: String
    let start: PlanFacts.StartToken

    init(row: NamedRow) throws {
        installation = try row["installation_hash"]
        kind = try row["kind"]
        start = PlanFacts.StartToken(token: try row["token"], confirmedAt: try row["confirmed_at"])
    }
}

extension PlanFacts.RunningActivity: DecodableRow {
    package init(row: NamedRow) throws {
        let reason: TokenAvailability? = try row["reason"]
        self.init(
            deliverable: reason == nil ? try ResolvedActivity(row: row) : nil,
            reason: reason,
            createdAt: try row["created_at"],
            key: try row["activity_key"]
        )
    }
}

extension PlanUnit {
    /// - Parameter key: the key of the activity; nil if no activity runs.
    func entry(_ decision: PlanDecision, _ installation: InstallationHash?, key: Int64?, on page: FoundPlan)
        -> PlanEntry
    {
        let metadata = installation.flatMap { page.metadata.installations[$0] }
        let channel = metadata?.supportsChannels == true ? page.channels.first?.id : nil
        var entry = PlanEntry(installation: installation, step: step(decision, channel))
        guard request.includesMetadata else { return entry }
        entry.metadata = key.flatMap { page.metadata.activities[$0] }
        entry.installationMetadata = metadata
        return entry
    }

    private func step(_ decision: PlanDecision, _ channel: UTF8Text?) -> PlanStep {
        switch decision {
        case .update(let activity, let time): .update(activity, retryAt: time?.date)
        case .wait(let reason, let time): .wait(reason, retryAt: time.date)
        // A renewed activity has a token, and its successor gets one.
        case .start(let token, let lease, let old):
            .start(token, StartLease(lease, old == nil ? channel : nil), replaces: old)
        case .end(let activity): .end(activity)
        case .alert(let reason, let token): .alert(reason, token)
        case .none(let reason): .none(reason)
        }
    }
}

extension StartLease {
    fileprivate init(_ lease: Lease, _ channel: UTF8Text?) {
        let subject = Data("\(lease.alias)\0".utf8) + lease.installation.bytes
        self.init(
            id: lease.id,
            leasedUntil: lease.leasedUntil.date,
            collapseID: Hexadecimal.encode(Array(SHA256.hash(data: subject)).prefix(16)),
            attempt: lease.attempt
        )
        channelID = channel
    }
}
