import PostgresDriver
import RegistryCore
import RegistryRules

extension Activity: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            id: try row["activity_id"],
            startedAt: try row["started_at"],
            expiresAt: try row["expires_at"]
        )
        revision = try row["revision"]
        installation = try row["installation_hash"]
        subject = try row["subject"]
        facts.attributesType = try row["attributes_type"]
        facts.frequentPushesEnabled = try row["frequent_pushes_enabled"]
        startsAt = try row["starts_at"]
        if let endedAt: Timestamp = try row["ended_at"] {
            end = End(at: endedAt, reason: try row["end_reason"])
        }
        expiryRecordedAt = try row["expiry_recorded_at"]
        lastObservedAt = try row["last_observed_at"]
        if let json: JSONB = try row["aliases"] {
            aliases = Stamped(try AliasSet(stored: json), observedAt: try row["aliases_observed_at"] ?? .distantPast)
        }
        if let json: JSONB = try row["metadata"] {
            metadata = Stamped(try Metadata(stored: json), observedAt: try row["metadata_observed_at"] ?? .distantPast)
        }
        if let digest: [UInt8] = try row["token_digest"] {
            token = TokenClaim(
                digest: TokenDigest(bytes: digest),
                token: try row["token"],
                observedAt: try row["token_observed_at"],
                claimedAt: try row["token_claimed_at"]
            )
        }
        withheld = try row["withheld"]
        confirmedAt = try row["confirmed_at"]
    }
}

extension TokenValue: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(digest: TokenDigest(bytes: try row["token_digest"]))
        if let activityID: ActivityID = try row["activity_id"] {
            owner = Owner(activityID: activityID, observedAt: try row["observed_at"])
        }
        isHeldByInstallation = try row["is_held_by_installation"]
        deadAt = try row["dead_at"]
        purgedAt = try row["purged_at"]
        quarantinedAt = try row["quarantined_at"]
    }
}

extension Installation {
    static func dictionary(_ result: PostgresResult) throws -> [InstallationHash: Installation] {
        var installations: [InstallationHash: Installation] = [:]
        for row in try result.decode(Row.self) { installations[row.hash] = row.installation }
        return installations
    }

    private struct Row: DecodableRow {
        let hash: InstallationHash
        let installation: Installation

        init(row: NamedRow) throws {
            hash = try row["installation_hash"]
            installation = Installation(fullStateAt: try row["full_state_at"], loggedOutAt: try row["removed_at"])
        }
    }
}
