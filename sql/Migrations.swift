/// The numbered SQL files of `sql/migrations`, embedded in the binary.
package enum Migrations {
    /// File name and content, in the order of application.
    package static let files: [(name: String, content: [UInt8])] = [
        ("0001_apps_and_keys.sql", PackageResources._001_apps_and_keys_sql),
        ("0002_installations.sql", PackageResources._002_installations_sql),
        ("0003_activities.sql", PackageResources._003_activities_sql),
        ("0004_tokens.sql", PackageResources._004_tokens_sql),
        ("0005_events.sql", PackageResources._005_events_sql),
        ("0006_channels_and_plan.sql", PackageResources._006_channels_and_plan_sql),
        ("0007_erasures_and_counts.sql", PackageResources._007_erasures_and_counts_sql),
        ("0008_views.sql", PackageResources._008_views_sql),
    ]
}
