import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension InstallationRecord: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            installation: try row["installation_hash"],
            touchedAt: try row["touched_at"],
            subject: try row["subject"],
            aliases: (try row["aliases"] as JSONB?)?.bytes,
            aliasesObservedAt: try row["aliases_observed_at"],
            metadata: (try row["metadata"] as JSONB?)?.bytes,
            metadataObservedAt: try row["metadata_observed_at"],
            fullStateAt: try row["full_state_at"],
            loggedOutAt: try row["removed_at"]
        )
    }
}

extension InstallationRecord.Token: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            kind: try row["kind"],
            attributesType: try row["attributes_type"],
            fingerprint: try row["fingerprint"],
            observedAt: try row["observed_at"],
            confirmedAt: try row["confirmed_at"],
            reason: try row["withheld"]
        )
    }
}
