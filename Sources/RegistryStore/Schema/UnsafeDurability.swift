import PostgresDriver

/// A setting that lets a crash lose acknowledged writes (R1).
package struct UnsafeDurability: Error, Sendable, Hashable, CustomStringConvertible {
    package let setting: String
    package let value: String
    /// The Citus worker; nil for the connection's server.
    package var worker: String?

    package var detail: String {
        """
        \(worker.map { "The worker \($0)" } ?? "Postgres") runs with \(setting) = \(value), so it can lose writes that it \
        acknowledged.
        """
    }

    package var description: String { "\(detail) Set \(setting) to on." }

    static let safeValues = [
        ("fsync", ["on"]), ("synchronous_commit", ["on", "remote_apply"]), ("full_page_writes", ["on"]),
    ]

    static func found(_ session: borrowing PostgresSession) throws -> [UnsafeDurability] {
        let results = try session.pipeline(safeValues.map { "SELECT current_setting(\($0.0))" })
        return try zip(safeValues, results).compactMap { safe, result in
            let value = try result[0].decode(String.self)
            return safe.1.contains(value) ? nil : UnsafeDurability(setting: safe.0, value: value)
        }
    }
}
