enum ServerSettings {
    /// Durable, and without client data in the log.
    private static let defaults = [
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "wal_level": "replica",
        "max_wal_size": "1GB",
        "shared_buffers": "128MB",
        "max_connections": "100",
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] ",
        "log_checkpoints": "off",
        "log_statement": "none",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
        // The detail of a constraint violation quotes the row, which may contain a token.
        "log_error_verbosity": "terse",
    ]

    /// `overrides` take precedence over the defaults; the settings that locate the server take precedence over both.
    static func arguments(socketDirectory: String, overrides: [String: String]) -> [String] {
        let fixed = [
            "listen_addresses": "",
            "port": ConnectionString.port,
            "unix_socket_directories": socketDirectory,
            "unix_socket_permissions": "0700",
            "ssl": "off",
            "logging_collector": "off",
            "log_destination": "stderr",
        ]
        let all = defaults.merging(overrides) { $1 }.merging(fixed) { $1 }
        return all.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    }
}
