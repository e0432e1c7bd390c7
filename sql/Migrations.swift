/// The numbered SQL files of `sql/migrations`, embedded in the binary; there is nothing to deploy beside it.
package enum Migrations {
    /// File name and content, in the order in which they are applied.
    package static let files: [(name: String, content: [UInt8])] = [
        ("0001_registry.sql", PackageResources._001_registry_sql),
        ("0002_keys.sql", PackageResources._002_keys_sql),
        ("0003_owners.sql", PackageResources._003_owners_sql),
        ("0004_audit.sql", PackageResources._004_audit_sql),
        ("0005_counts.sql", PackageResources._005_counts_sql),
        ("0006_start_leases.sql", PackageResources._006_start_leases_sql),
        ("0007_all_aliases.sql", PackageResources._007_all_aliases_sql),
        ("0008_smaller_indexes.sql", PackageResources._008_smaller_indexes_sql),
    ]
}
