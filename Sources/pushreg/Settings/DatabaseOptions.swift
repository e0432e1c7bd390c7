import ArgumentParser
import PostgresDriver
import RegistryCore

/// The flags that say which database a command works on.
///
/// All are optional and without defaults: else they would beat the environment and the config file.
struct DatabaseOptions: ParsableArguments {
    @Option(help: .of(.embedded, "dir"), completion: .directory) var embedded: String?
    @Option(help: .of(.databaseUrl, "url")) var databaseUrl: String?
    @Option(help: .of(.config, "file"), completion: .file(extensions: ["json"])) var config: String?
    @Flag(help: .of(.unsafeDurability)) var unsafeDurability = false
    @Option(help: .of(.planCacheMode, "mode"), completion: .list(PlanCacheMode.allCases.map(\.rawValue)))
    var planCacheMode: String?

    /// The settings that were given as flags. A flag that is absent says nothing; it does not say no.
    var flags: [Setting: JSONValue] {
        let flags: [Setting: JSONValue?] = [
            .embedded: embedded.map(JSONValue.string), .databaseUrl: databaseUrl.map(JSONValue.string),
            .config: config.map(JSONValue.string), .unsafeDurability: unsafeDurability ? .bool(true) : nil,
            .planCacheMode: planCacheMode.map(JSONValue.string),
        ]
        return flags.compactMapValues(\.self)
    }

    /// Opens the database that the settings name, lends it to `body`, and closes it again.
    func withDatabase<Result: Sendable>(
        _ policy: SchemaPolicy = .require,
        limits: ConnectionLimits = ConnectionLimits(),
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        try await DatabaseSettings(SettingSources(flags: flags)).withDatabase(policy, limits: limits, body)
    }
}
