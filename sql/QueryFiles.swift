/// The files of `sql/queries`, embedded in the binary.
package enum QueryFiles {
    /// File name and content.
    package static let files: [(name: String, content: [UInt8])] = [
        ("activities.sql", PackageResources.activities_sql),
        ("channels.sql", PackageResources.channels_sql),
        ("ends.sql", PackageResources.ends_sql),
        ("feedback.sql", PackageResources.feedback_sql),
        ("installations.sql", PackageResources.installations_sql),
        ("name-only.sql", PackageResources.name_only_sql),
    ]
}
