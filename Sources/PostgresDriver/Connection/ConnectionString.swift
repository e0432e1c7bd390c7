/// A libpq connection string for display.
package enum ConnectionString {
    private static let secrets: Set = ["password", "sslpassword", "oauth_client_secret", "scram_client_key"]

    /// The settings of the string as `keyword=value` pairs, with `***` in place of each secret. A string that libpq cannot read
    /// is hidden whole.
    package static func masked(_ connectionString: String) -> String {
        let hidden = "***"
        guard let options = try? ConnectionOptions.parse(connectionString) else { return hidden }
        // In a URI, a password with an unescaped `@` or `/` is read as part of these.
        let places = ["host", "port", "dbname"].compactMap { options[$0] }
        guard !places.contains(where: { $0.contains("@") }) else { return hidden }
        return options.sorted { $0.key < $1.key }
            .map { "\($0)=\(secrets.contains($0) ? hidden : $1)" }.joined(separator: " ")
    }
}
