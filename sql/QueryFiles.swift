/// The files of `sql/queries`, embedded in the binary.
package enum QueryFiles {
    package static let contents: [[UInt8]] = [
        PackageResources.activities_sql,
        PackageResources.apps_sql,
        PackageResources.audit_sql,
        PackageResources.changes_sql,
        PackageResources.channels_sql,
        PackageResources.counts_sql,
        PackageResources.ends_sql,
        PackageResources.erasure_sql,
        PackageResources.events_sql,
        PackageResources.explain_sql,
        PackageResources.export_sql,
        PackageResources.feedback_sql,
        PackageResources.health_sql,
        PackageResources.installations_sql,
        PackageResources.keys_sql,
        PackageResources.name_only_sql,
        PackageResources.partitions_sql,
        PackageResources.plan_sql,
        PackageResources.purge_sql,
        PackageResources.resolve_sql,
        PackageResources.stale_sql,
        PackageResources.sweep_sql,
    ]
}
