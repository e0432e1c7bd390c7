/// Names of the private database, and how libpq finds it.
enum ConnectionString {
    /// The database's superuser and the database have the same name.
    static let role = "registry"
    /// It names only the socket's file; libpq's own default could come from PGPORT.
    static let port = "5432"

    static func make(socketDirectory: String) -> String {
        "host=\(quoted(socketDirectory)) port=\(port) user=\(role) dbname=\(role)"
    }

    /// In libpq's quotes a backslash escapes a quote or itself.
    private static func quoted(_ value: String) -> String {
        let escaped = value.flatMap { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }
        return "'\(String(escaped))'"
    }
}
