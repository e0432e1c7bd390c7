enum ConnectionString {
    static let role = "registry"
    /// Part of the socket's file name. Fixed, because PGPORT can change libpq's default.
    static let port = "5432"

    static func make(socketDirectory: String) -> String {
        "host=\(quoted(socketDirectory)) port=\(port) user=\(role) dbname=\(role)"
    }

    /// Quotes a value for libpq: a backslash escapes `'` and `\`.
    private static func quoted(_ value: String) -> String {
        let escaped = value.flatMap { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }
        return "'\(String(escaped))'"
    }
}
