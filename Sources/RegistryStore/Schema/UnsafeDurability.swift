import PostgresDriver

/// A setting by which the server would acknowledge writes that a crash can lose (R1).
package struct UnsafeDurability: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the setting, such as `fsync`.
    package let setting: String
    /// The value that it has for this session.
    package let value: String
    /// The worker of Citus that it is about; nil for the server that the service is connected to.
    package var worker: String?

    /// The problem, in a sentence.
    package var detail: String {
        """
        \(worker.map { "The worker \($0)" } ?? "Postgres") runs with \(setting) = \(value), so it can lose writes that it \
        acknowledged.
        """
    }

    /// The problem and its remedy, two sentences.
    package var description: String { "\(detail) Set \(setting) to on." }

    /// The settings, each with the values that keep what is acknowledged.
    static let safeValues = [
        ("fsync", ["on"]), ("synchronous_commit", ["on", "remote_apply"]), ("full_page_writes", ["on"]),
    ]

    /// All such settings, as they hold for this session; one round trip.
    static func found(_ session: borrowing PostgresSession) throws -> [UnsafeDurability] {
        let results = try session.pipeline(safeValues.map { "SELECT current_setting(\($0.0))" })
        return try zip(safeValues, results).compactMap { safe, result in
            let value = try result[0].decode(String.self)
            return safe.1.contains(value) ? nil : UnsafeDurability(setting: safe.0, value: value)
        }
    }

    /// - Throws: the first of them, if there is one.
    static func refuse(_ session: borrowing PostgresSession) throws {
        if let unsafe = try found(session).first { throw unsafe }
    }
}
