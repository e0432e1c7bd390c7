import PostgresDriver
import RegistryCore

/// Which database, and on what terms, as the sources say.
struct DatabaseSettings: Sendable {
    enum Location: Sendable {
        /// A private Postgres in a directory.
        case embedded(directory: String)
        /// A libpq connection string; it may hold a password.
        case remote(connectionString: Secret)
    }

    let location: Location
    /// Whether a Postgres is taken that may lose what it acknowledged.
    var allowsUnsafeDurability: Bool
    /// Nil is the one that fits the database.
    let planCacheMode: PlanCacheMode?

    /// - Throws: a ``CommandFailure`` if no database is named, or two are, or libpq cannot use the connection string, or the plan
    ///   cache has no such mode.
    init(_ sources: SettingSources) throws(CommandFailure) {
        guard let chosen = try Self.choice(sources) else {
            throw CommandFailure(
                .usage,
                """
                No database is named. Use --embedded DIR for a private Postgres in a directory, or --database-url URL \
                (DATABASE_URL) for one that runs already.
                """
            )
        }
        let text = try sources.text(chosen.setting) ?? ""
        if chosen.setting == .databaseUrl, let fault = ConnectionString.fault(in: text) {
            throw CommandFailure(.usage, "\(chosen.givenName): the connection string \(fault)")
        }
        location = chosen.setting == .embedded ? .embedded(directory: text) : .remote(connectionString: Secret(text))
        allowsUnsafeDurability = try sources.isTrue(.unsafeDurability)
        planCacheMode = try sources.choice(.planCacheMode)
    }

    /// The stronger of the two settings that name a database.
    ///
    /// - Throws: a ``CommandFailure`` if both were given in the same place.
    static func choice(_ sources: SettingSources) throws(CommandFailure) -> FoundSetting? {
        guard let directory = try sources.find(.embedded) else { return try sources.find(.databaseUrl) }
        guard let url = try sources.find(.databaseUrl) else { return directory }
        guard directory.origin != url.origin else {
            throw CommandFailure(.usage, "Give one of \(directory.givenName) and \(url.givenName), not both.")
        }
        return directory.origin < url.origin ? directory : url
    }
}
