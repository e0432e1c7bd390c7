import Crypto
import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

/// A row of `plan.read-activities`.
struct BearingFacts: DecodableRow {
    let subject: UTF8Text?
    let registeredAt: Timestamp?
    let wasDismissed: Bool
    let running: PlanFacts.RunningActivity?

    init(row: NamedRow) throws {
        subject = try row["subject"]
        registeredAt = try row["registered_at"]
        wasDismissed = try row["was_dismissed"]
        running = try (row["activity_key"] as Int64?) == nil ? nil : PlanFacts.RunningActivity(row: row)
    }
}

/// A row of `plan.read-tokens`.
struct InstallationTokens: DecodableRow {
    let installation: InstallationHash
    let start: PlanFacts.StartToken?
    let device: PushToken?

    init(row: NamedRow) throws {
        installation = try row["installation_hash"]
        let confirmedAt: Timestamp? = try row["confirmed_at"]
        start = try (row["start_token"] as PushToken?).map { .init(token: $0, confirmedAt: confirmedAt) }
        device = try row["device_token"]
    }
}

extension PlanFacts.RunningActivity: DecodableRow {
    package init(row: NamedRow) throws {
        let reason: String? = try row["reason"]
        self.init(
            deliverable: reason == nil ? try ResolvedActivity(row: row) : nil,
            hasToken: reason != "no-token",
            createdAt: try row["created_at"]
        )
    }
}

extension PlanUnit {
    func step(_ decision: PlanDecision) -> PlanStep {
        switch decision {
        case .update(let activity): .update(activity)
        case .wait(let reason, let time): .wait(reason, retryAt: time.date)
        case .start(let token, let lease): .start(token, StartLease(lease))
        case .alert(let reason, let token): .alert(reason, token)
        case .none(let reason): .none(reason)
        }
    }
}

extension StartLease {
    fileprivate init(_ lease: Lease) {
        let subject = Data("\(lease.alias)\0".utf8) + lease.installation.bytes
        self.init(
            id: lease.id,
            leasedUntil: lease.leasedUntil.date,
            collapseID: Hexadecimal.encode(Array(SHA256.hash(data: subject)).prefix(16)),
            attempt: lease.attempt
        )
    }
}
