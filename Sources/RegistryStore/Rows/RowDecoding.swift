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
        facts = try ActivityFacts(row: row)
        facts.pushType = try row["push_type"]
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
        handle = RowHandle(position: try row["row_position"], key: try row["activity_key"])
    }
}

extension TokenValue: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(digest: TokenDigest(bytes: try row["token_digest"]))
        if let activityID: ActivityID = try row["activity_id"] {
            owner = Owner(activityID: activityID, observedAt: try row["observed_at"])
        }
        if let kind: String = try row["installation_kind"] {
            installation = InstallationOwner(
                hash: try row["installation_hash"],
                kind: kind,
                observedAt: try row["installation_observed_at"]
            )
        }
        startObservedAt = try row["start_observed_at"]
        deadAt = try row["dead_at"]
        purgedAt = try row["purged_at"]
        if let quarantinedAt: Timestamp = try row["quarantined_at"] {
            quarantine = Quarantine(
                at: quarantinedAt,
                kind: try row["quarantined_kind"],
                reason: try row["quarantine_reason"]
            )
        }
        handle = RowHandle(position: try row["row_position"])
    }
}

extension InstallationTimes {
    static func dictionary(_ context: PostgresResult) throws -> [InstallationHash: InstallationTimes] {
        var times: [InstallationHash: InstallationTimes] = [:]
        for (hash, itsTimes) in try context.decode({ (try $0["installation_hash"] as InstallationHash?, try Self($0)) })
        {
            if let hash { times[hash] = itsTimes }
        }
        return times
    }

    fileprivate init(_ row: NamedRow) throws {
        self.init(fullStateAt: try row["full_state_at"], loggedOutAt: try row["removed_at"])
    }
}

extension Installation: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(hash: try row["installation_hash"])
        subject = try row["subject"]
        subjectObservedAt = try row["subject_observed_at"]
        takenOverAt = try row["taken_over_at"]
        times = try InstallationTimes(row)
        if let json: JSONB = try row["aliases"] {
            aliases = Stamped(try AliasSet(stored: json), observedAt: try row["aliases_observed_at"])
        }
        if let json: JSONB = try row["metadata"] {
            metadata = Stamped(try Metadata(stored: json), observedAt: try row["metadata_observed_at"])
        }
    }
}

extension InstallationToken: DecodableRow {
    package init(row: NamedRow) throws {
        let id = ID(
            installation: try row["installation_hash"],
            kind: try row["kind"],
            attributesType: try row["attributes_type"]
        )
        self.init(id: id, hasOneOwner: try row["has_one_owner"])
        if let digest: [UInt8] = try row["token_digest"] {
            token = TokenClaim(
                digest: TokenDigest(bytes: digest),
                token: try row["token"],
                observedAt: try row["observed_at"],
                claimedAt: try row["claimed_at"]
            )
        }
        confirmedAt = try row["confirmed_at"]
        deletedAt = try row["deleted_at"]
        withheld = try row["withheld"]
        handle = RowHandle(position: try row["row_position"])
    }
}
