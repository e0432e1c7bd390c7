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
        var entry = PlanEntry(installation: installation, decision: decision)
        entry.channelID = metadata?.supportsChannels == true ? page.channels.first?.id : nil
        guard request.includesMetadata else { return entry }
        entry.metadata = key.flatMap { page.metadata.activities[$0] }
        entry.installationMetadata = metadata
        return entry
    }
}
