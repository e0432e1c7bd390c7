/// The files of `sql/queries`, embedded in the binary.
package enum QueryFiles {
    /// File name and content.
    package static let files: [(name: String, content: [UInt8])] = [
        ("activities.sql", PackageResources.activities_sql),
        ("apps.sql", PackageResources.apps_sql),
        ("audit.sql", PackageResources.audit_sql),
        ("changes.sql", PackageResources.changes_sql),
        ("channels.sql", PackageResources.channels_sql),
        ("counts.sql", PackageResources.counts_sql),
        ("ends.sql", PackageResources.ends_sql),
        ("erasure.sql", PackageResources.erasure_sql),
        ("events.sql", PackageResources.events_sql),
        ("explain.sql", PackageResources.explain_sql),
        ("export.sql", PackageResources.export_sql),
        ("feedback.sql", PackageResources.feedback_sql),
        ("health.sql", PackageResources.health_sql),
        ("installations.sql", PackageResources.installations_sql),
        ("keys.sql", PackageResources.keys_sql),
        ("name-only.sql", PackageResources.name_only_sql),
        ("partitions.sql", PackageResources.partitions_sql),
        ("plan.sql", PackageResources.plan_sql),
        ("purge.sql", PackageResources.purge_sql),
        ("resolve.sql", PackageResources.resolve_sql),
        ("stale.sql", PackageResources.stale_sql),
        ("sweep.sql", PackageResources.sweep_sql),
    ]
}
