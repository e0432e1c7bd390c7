import ArgumentParser
import PostgresDriver
import RegistryCore

/// The flags that select the database of a command.
///
/// They are optional without defaults, because a default would override the environment and the config file.
struct DatabaseOptions: ParsableArguments {
    @Option(help: .of(.embedded, "dir"), completion: .directory) var embedded: String?
    @Option(help: .of(.databaseUrl, "url")) var databaseUrl: String?
    @Option(help: .of(.config, "file"), completion: .file(extensions: ["json"])) var config: String?
    @Flag(help: .of(.unsafeDurability)) var unsafeDurability = false
    @Option(help: .of(.planCacheMode, "mode"), completion: .list(PlanCacheMode.allCases.map(\.rawValue)))
    var planCacheMode: String?

    /// The flags that were given. An absent flag is not `false`.
    var flags: [Setting: JSONValue] {
        let flags: [Setting: JSONValue?] = [
            .embedded: embedded.map(JSONValue.string), .databaseUrl: databaseUrl.map(JSONValue.string),
            .config: config.map(JSONValue.string), .unsafeDurability: unsafeDurability ? .bool(true) : nil,
            .planCacheMode: planCacheMode.map(JSONValue.string),
        ]
        return flags.compactMapValues(\.self)
    }

    func withDatabase<Result: Sendable>(
        _ policy: SchemaPolicy = .require,
        limits: ConnectionLimits = ConnectionLimits(),
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        try await DatabaseSettings(SettingSources(flags: flags)).withDatabase(policy, limits: limits, body)
    }
}
