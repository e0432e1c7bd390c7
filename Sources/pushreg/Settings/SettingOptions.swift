import ArgumentParser
import Logging
import RegistryCore

/// Flags of settings. Each has the name of its ``Setting``.
///
/// They are optional without defaults, because a default would override the environment and the config file.
protocol SettingOptions: ParsableArguments {}

extension SettingOptions {
    /// The flags that were given. An absent flag is not `false`.
    var flags: [Setting: JSONValue] {
        var flags: [Setting: JSONValue] = [:]
        for case (let label?, let option) in Mirror(reflecting: self).children {
            // A property wrapper's storage begins with an underscore.
            guard let setting = Setting(rawValue: String(label.dropFirst())) else { continue }
            switch option {
            case let option as Option<String?>: flags[setting] = option.wrappedValue.map(JSONValue.string)
            case let option as Option<Int64?>: flags[setting] = option.wrappedValue.map(JSONValue.integer)
            case let flag as Flag<Bool?>: flags[setting] = flag.wrappedValue.map(JSONValue.bool)
            case let flag as Flag<Bool>: flags[setting] = flag.wrappedValue ? .bool(true) : nil
            default: preconditionFailure("\(setting) has another kind of option")
            }
        }
        return flags
    }
}

/// The flags that select the database of a command.
struct DatabaseOptions: SettingOptions {
    @Option(help: .of(.embedded, "dir"), completion: .directory) var embedded: String?
    @Option(help: .of(.databaseUrl, "url")) var databaseUrl: String?
    @Option(help: .of(.config, "file"), completion: .file(extensions: ["json"])) var config: String?
    @Flag(help: .of(.unsafeDurability)) var unsafeDurability = false
    func withDatabase<Result: Sendable>(
        _ policy: SchemaPolicy = .require,
        limits: ConnectionLimits = ConnectionLimits(),
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        try await DatabaseSettings(SettingSources(flags: flags)).withDatabase(policy, limits: limits, body)
    }
}

/// The flags of the service except its database.
struct ServiceOptions: SettingOptions {
    @Flag(inversion: .prefixedNo, help: .of(.migrate)) var migrate: Bool?
    @Option(help: .of(.host)) var host: String?
    @Option(help: .of(.port)) var port: Int64?
    @Option(help: .of(.adminPort, "port")) var adminPort: Int64?
    @Option(help: .of(.tlsCert, "file")) var tlsCert: String?
    @Option(help: .of(.tlsKey, "file")) var tlsKey: String?
    @Flag(help: .of(.insecureNoAuth)) var insecureNoAuth = false
    @Flag(help: .of(.allowInternalJwks)) var allowInternalJwks = false
    @Option(help: .of(.keyRate, "count")) var keyRate: Int64?
    @Option(help: .of(.addressRate, "count")) var addressRate: Int64?
    @Option(help: .of(.trustedProxies, "ranges")) var trustedProxies: String?
    @Option(help: .of(.maxConnections, "count")) var maxConnections: Int64?
    @Option(help: .of(.requestTimeout, "duration")) var requestTimeout: String?
    @Option(help: .of(.sweepInterval, "duration")) var sweepInterval: String?
    @Option(help: .of(.logLevel, "level"), completion: .list(Logger.Level.allCases.map(\.rawValue)))
    var logLevel: String?
    @Option(help: .of(.publicUrl, "url")) var publicUrl: String?
    @Option(help: .of(.oidcIssuer, "url")) var oidcIssuer: String?
    @Option(help: .of(.oidcClientId, "id")) var oidcClientId: String?
    @Option(help: .of(.oidcClientSecret, "secret")) var oidcClientSecret: String?
    @Option(help: .of(.oidcClaim, "name")) var oidcClaim: String?
    @Option(help: .of(.oidcRoles, "rules")) var oidcRoles: String?
}
