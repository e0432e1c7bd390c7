import PostgresDriver
import RegistryCore

struct DatabaseSettings: Sendable {
    enum Location: Sendable {
        case embedded(directory: String)
        /// A libpq connection string. It can contain a password.
        case remote(connectionString: Secret)
    }

    let location: Location
    var allowsUnsafeDurability: Bool

    /// - Throws: A ``CommandFailure`` unless exactly one database is named and libpq accepts the connection string.
    init(_ sources: SettingSources) throws(CommandFailure) {
        guard let chosen = try Self.choice(sources) else {
            throw CommandFailure(
                .usage,
                """
                No database is given. Use --embedded DIR for a private Postgres in a directory, or --database-url URL \
                (DATABASE_URL) for an existing Postgres.
                """
            )
        }
        let text = try sources.text(chosen.setting) ?? ""
        if chosen.setting == .databaseUrl, let fault = ConnectionString.fault(in: text) {
            throw CommandFailure(.usage, "\(chosen.givenName): the connection string \(fault)")
        }
        location = chosen.setting == .embedded ? .embedded(directory: text) : .remote(connectionString: Secret(text))
        allowsUnsafeDurability = try sources.isTrue(.unsafeDurability)
    }

    /// The setting with the higher precedence of the two that name a database. Throws if both come from one source.
    static func choice(_ sources: SettingSources) throws(CommandFailure) -> FoundSetting? {
        guard let directory = sources.find(.embedded) else { return sources.find(.databaseUrl) }
        guard let url = sources.find(.databaseUrl) else { return directory }
        guard directory.origin != url.origin else {
            throw CommandFailure(.usage, "Give one of \(directory.givenName) and \(url.givenName), not both.")
        }
        return directory.origin < url.origin ? directory : url
    }
}
