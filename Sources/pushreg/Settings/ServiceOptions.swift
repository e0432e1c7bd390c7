import ArgumentParser
import Logging
import RegistryCore

/// The flags of the service except its database. Optional without defaults for the reason given at
/// `DatabaseOptions`.
struct ServiceOptions: ParsableArguments {
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

    var flags: [Setting: JSONValue] {
        let flags: [Setting: JSONValue?] = [
            .migrate: migrate.map(JSONValue.bool), .host: host.map(JSONValue.string),
            .port: port.map(JSONValue.integer), .adminPort: adminPort.map(JSONValue.integer),
            .tlsCert: tlsCert.map(JSONValue.string), .tlsKey: tlsKey.map(JSONValue.string),
            .insecureNoAuth: insecureNoAuth ? .bool(true) : nil,
            .allowInternalJwks: allowInternalJwks ? .bool(true) : nil,
            .keyRate: keyRate.map(JSONValue.integer), .addressRate: addressRate.map(JSONValue.integer),
            .trustedProxies: trustedProxies.map(JSONValue.string),
            .maxConnections: maxConnections.map(JSONValue.integer),
            .requestTimeout: requestTimeout.map(JSONValue.string),
            .sweepInterval: sweepInterval.map(JSONValue.string), .logLevel: logLevel.map(JSONValue.string),
            .publicUrl: publicUrl.map(JSONValue.string), .oidcIssuer: oidcIssuer.map(JSONValue.string),
            .oidcClientId: oidcClientId.map(JSONValue.string),
            .oidcClientSecret: oidcClientSecret.map(JSONValue.string), .oidcClaim: oidcClaim.map(JSONValue.string),
            .oidcRoles: oidcRoles.map(JSONValue.string),
        ]
        return flags.compactMapValues(\.self)
    }
}
