import PostgresDriver
import RegistryCore

/// Which database, and on what terms, as the sources say.
///
/// Reads `embedded`, `databaseUrl`, `unsafeDurability` and `planCacheMode`.
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

    /// - Throws: a ``CommandFailure`` when no database is named, or two are, or the plan cache has no such mode.
    init(_ sources: SettingSources) throws(CommandFailure) {
        guard let chosen = try Self.choice(sources) else { throw Self.noDatabase }
        let text = try sources.nonEmptyText(chosen.setting) ?? ""
        location = chosen.setting == .embedded ? .embedded(directory: text) : .remote(connectionString: Secret(text))
        allowsUnsafeDurability = try sources.find(.unsafeDurability)?.isTrue ?? false
        planCacheMode = try Self.planCacheMode(sources)
    }

    /// - Throws: a ``CommandFailure`` when there is no such mode.
    static func planCacheMode(_ sources: SettingSources) throws(CommandFailure) -> PlanCacheMode? {
        guard let found = try sources.find(.planCacheMode), let text = found.text else { return nil }
        guard let mode = PlanCacheMode(rawValue: text) else {
            let modes = PlanCacheMode.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(.usage, "\(found.givenName) must be one of \(modes).")
        }
        return mode
    }

    /// The stronger of the two settings that name a database.
    ///
    /// - Throws: a ``CommandFailure`` when both were given in the same place.
    static func choice(_ sources: SettingSources) throws(CommandFailure) -> FoundSetting? {
        let embedded = try sources.find(.embedded)
        guard let url = try sources.find(.databaseUrl) else { return embedded }
        guard let embedded else { return url }
        guard embedded.origin != url.origin else {
            throw CommandFailure(.usage, "Give one of \(embedded.givenName) and \(url.givenName), not both.")
        }
        return embedded.origin.rank < url.origin.rank ? embedded : url
    }

    private static let noDatabase = CommandFailure(
        .usage,
        """
        No database is named. Use --embedded DIR for a private Postgres in a directory, or --database-url URL \
        (DATABASE_URL) for one that runs already.
        """
    )
}

extension SettingOrigin {
    /// The strongest has the lowest.
    fileprivate var rank: Int {
        switch self {
        case .flag: 0
        case .environment: 1
        case .file: 2
        case .fallback: 3
        }
    }
}
