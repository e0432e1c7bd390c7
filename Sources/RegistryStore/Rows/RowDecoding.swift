import PostgresDriver
import RegistryCore
import RegistryRules

/// Reads columns in the order of the tables, which costs one comparison each.
extension Activity: DecodableRow {
    package init(row: NamedRow) throws {
        let (position, key): (RowPosition, Int64) = (try row["row_position"], try row["activity_key"])
        try self.init(lifeOf: row)
        (self.position, self.key) = (position, key)
        expiryRecordedAt = try row["expiry_recorded_at"]
        installation = try row["installation_hash"]
        subject = try row["subject"]
        facts = try ActivityFacts(row: row)
        startsAt = try row["starts_at"]
        metadata = try Stamped(row, "metadata", observedAt: "metadata_observed_at")
        aliases = try Stamped(row, "aliases", observedAt: "aliases_observed_at")
        token = try TokenClaim(row, observedAt: "token_observed_at", claimedAt: "token_claimed_at")
        withheld = try row["withheld"]
        confirmedAt = try row["confirmed_at"]
        lastObservedAt = try row["last_observed_at"]
        revision = try row["revision"]
    }

    /// The life and token of an activity that gets a delivery. Other columns are not read.
    init(delivered row: NamedRow) throws {
        try self.init(lifeOf: row)
        token = try TokenClaim(row, observedAt: "token_observed_at", claimedAt: "token_claimed_at")
    }

    private init(lifeOf row: NamedRow) throws {
        let (startedAt, expiresAt): (Timestamp, Timestamp) = (try row["started_at"], try row["expires_at"])
        self.init(id: try row["activity_id"], startedAt: startedAt, expiresAt: expiresAt)
        if let endedAt: Timestamp = try row["ended_at"] { end = End(at: endedAt, reason: try row["end_reason"]) }
    }
}

extension TokenClaim {
    /// Nil if no token was ever registered.
    fileprivate init?(_ row: NamedRow, observedAt: StaticString, claimedAt: StaticString) throws {
        let token: PushToken? = try row["token"]
        guard let digest: TokenDigest = try row["token_digest"] else { return nil }
        self.init(digest: digest, token: token, observedAt: try row[observedAt], claimedAt: try row[claimedAt])
    }
}

extension TokenValue: DecodableRow {
    package init(row: NamedRow) throws {
        let position: RowPosition = try row["row_position"]
        self.init(digest: try row["token_digest"])
        self.position = position
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
    }
}

extension InstallationTimes: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(fullStateAt: try row["full_state_at"], loggedOutAt: try row["removed_at"])
    }
}

extension Installation: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(hash: try row["installation_hash"])
        subject = try row["subject"]
        subjectObservedAt = try row["subject_observed_at"]
        takenOverAt = try row["taken_over_at"]
        otherUserObservedAt = try row["other_user_observed_at"]
        times = try InstallationTimes(row: row)
        aliases = try Stamped(row, "aliases", observedAt: "aliases_observed_at")
        metadata = try Stamped(row, "metadata", observedAt: "metadata_observed_at")
    }
}

extension InstallationToken: DecodableRow {
    package init(row: NamedRow) throws {
        let position: RowPosition = try row["row_position"]
        let id = ID(
            installation: try row["installation_hash"],
            kind: try row["kind"],
            attributesType: try row["attributes_type"]
        )
        self.init(id: id, hasOneOwner: try row["has_one_owner"])
        self.position = position
        token = try TokenClaim(row, observedAt: "observed_at", claimedAt: "claimed_at")
        confirmedAt = try row["confirmed_at"]
        deletedAt = try row["deleted_at"]
        withheld = try row["withheld"]
    }
}

extension ActivityFacts {
    init(row: NamedRow) throws {
        try self.init(forSenders: row)
        pushType = try row["push_type"]
    }

    /// The facts that senders' responses contain.
    init(forSenders row: NamedRow) throws {
        self.init()
        attributesType = try row["attributes_type"]
        frequentPushesEnabled = try row["frequent_pushes_enabled"]
    }

    /// In the column order of `activity_write`.
    func encode(into columns: inout CompositeWriter) {
        columns.append(attributesType)
        columns.append(frequentPushesEnabled)
        columns.append(pushType)
    }
}

extension ActivityPushType: PostgresEncodable, PostgresDecodable {}
