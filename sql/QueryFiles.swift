/// The files of `sql/queries`, embedded in the binary.
package enum QueryFiles {
    /// File name and content.
    package static let files: [(name: String, content: [UInt8])] = [
        ("channels.sql", PackageResources.channels_sql)
    ]
}
