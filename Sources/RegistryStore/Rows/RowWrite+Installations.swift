import PostgresDriver
import RegistryCore
import RegistryRules

extension RowWrite {
    var installationStatements: [SQL] {
        let installations = rows.installations.installations.values.filter(\.isWritten)
        let slots = rows.installations.slots.values.filter(\.isWritten).sorted { $0.value.id < $1.value.id }
        let known = slots.filter { $0.original != nil }.map(\.value)
        return installations.flatMap { write($0) + aliasRows($0) + leases(of: $0.value) }
            + slots.filter { $0.original == nil }.map { insertion(of: $0.value) }
            + write("installations.update-slots", known, ["now": rows.now])
    }

    private func write(_ row: LockedRows.Row<Installation>) -> [SQL] {
        let query: Query = row.original == nil ? "installations.insert" : "installations.update"
        let installation = row.value
        return [
            query([
                "scope": scope.id,
                "now": rows.now,
                "installation": installation.hash,
                "subject": installation.subject,
                "subject_observed_at": installation.subjectObservedAt,
                "taken_over_at": installation.takenOverAt,
                "other_user_observed_at": installation.otherUserObservedAt,
                "full_state_at": installation.times.fullStateAt,
                "removed_at": installation.times.loggedOutAt,
                "aliases": installation.aliases?.value.jsonb,
                "aliases_observed_at": installation.aliases?.observedAt,
                "metadata": installation.metadata?.value.jsonb,
                "metadata_observed_at": installation.metadata?.observedAt,
            ])
        ]
    }

    /// Keeps `installation_aliases` equal to the installation's aliases.
    private func aliasRows(_ row: LockedRows.Row<Installation>) -> [SQL] {
        let before = Set(row.original?.aliases?.value.aliases ?? [])
        let after = Set(row.value.aliases?.value.aliases ?? [])
        return write("installations.delete-aliases", before.subtracting(after), of: row.value)
            + write("installations.insert-aliases", after.subtracting(before), of: row.value)
    }

    private func write(_ query: Query, _ aliases: Set<Alias>, of installation: Installation) -> [SQL] {
        guard !aliases.isEmpty else { return [] }
        let aliases = aliases.sorted()
        return [
            query([
                "scope": scope.id,
                "installation": installation.hash,
                "kinds": aliases.map(\.kind),
                "values": aliases.map(\.value),
            ])
        ]
    }

    private func leases(of installation: Installation) -> [SQL] {
        guard rows.installations.voidsLeases else { return [] }
        return [Query("installations.delete-leases")(["scope": scope.id, "hashes": [installation.hash]])]
    }

    private func insertion(of slot: InstallationToken) -> SQL {
        Query("installations.insert-slot")([
            "scope": scope.id,
            "now": rows.now,
            "installation": slot.id.installation,
            "kind": slot.id.kind,
            "attributes_type": slot.id.attributesType,
            "has_one_owner": slot.hasOneOwner,
            "token": slot.token?.token,
            "token_digest": slot.token?.digest,
            "observed_at": slot.token?.observedAt,
            "claimed_at": slot.token?.claimedAt,
            "confirmed_at": slot.confirmedAt,
            "deleted_at": slot.deletedAt,
            "withheld": slot.withheld,
        ])
    }

    func writeInstallation(_ row: LockedRows.Row<TokenValue>) -> SQL {
        let query: Query = row.original == nil ? "installations.insert-value" : "installations.update-value"
        return query([
            "scope": scope.id,
            "now": rows.now,
            "digest": row.value.digest,
            "installation_kind": row.value.installation?.kind,
            "installation": row.value.installation?.hash,
            "installation_observed_at": row.value.installation?.observedAt,
            "start_observed_at": row.value.startObservedAt,
        ])
    }
}

extension InstallationToken: PostgresComposite {
    package func encode(into columns: inout CompositeWriter) {
        columns.append(position)
        columns.append(token?.token)
        columns.append(token?.digest)
        columns.append(token?.observedAt)
        columns.append(token?.claimedAt)
        columns.append(confirmedAt)
        columns.append(deletedAt)
        columns.append(withheld)
    }
}

extension LockedRows.Row<TokenValue> {
    var hasOtherInstallation: Bool {
        value.installation != original?.installation || value.startObservedAt != original?.startObservedAt
    }
}
