enum ConnectionString {
    static let role = "registry"
    /// Part of the socket file's name; libpq's own default could come from PGPORT.
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
