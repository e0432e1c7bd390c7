import Logging
import RegistryCore
import RegistryServer

struct ServiceSettings: Sendable {
    let migrates: Bool
    /// The paths of certificate and key. Nil for plain HTTP.
    let tls: (certificate: String, key: String)?
    let connections: ConnectionLimits
    let logLevel: Logger.Level
    /// Complete except for the TLS identity, which is read at the start of the service.
    let server: ServerConfiguration

    init(_ sources: SettingSources) throws(CommandFailure) {
        migrates = try sources.isTrue(.migrate)
        server = try Self.server(sources)
        tls = try Self.tls(sources)
        connections = try Self.connections(sources)
        logLevel = try sources.read(.logLevel, Logger.Level.read) ?? .info
    }

    private static func server(_ sources: SettingSources) throws(CommandFailure) -> ServerConfiguration {
        var server = ServerConfiguration()
        server.host = try sources.text(.host) ?? server.host
        if server.host.contains(/[\[\]\/]/) || server.host.count(where: { $0 == ":" }) == 1 {
            throw CommandFailure(.usage, "--host must be an address or host name without a scheme, brackets or a port.")
        }
        server.port = try sources.read(.port, Int.within(0...65_535)) ?? server.port
        server.adminPort = try sources.read(.adminPort, Int.within(0...65_535))
        server.version = Pushreg.version
        server.insecureNoAuth = try sources.isTrue(.insecureNoAuth)
        server.allowsInternalJWKS = try sources.isTrue(.allowInternalJwks)
        server.keyRate = try rate(.keyRate, sources)
        server.addressRate = try rate(.addressRate, sources)
        server.trustedProxies = try trustedProxies(sources)
        // How long an idle keep-alive connection waits for one more request after a signal.
        server.limits.lastRequestDeadline = .milliseconds(500)
        let pauses = Duration.within(.seconds(1) ... .seconds(86_400))
        server.sweepInterval = try sources.read(.sweepInterval, pauses) ?? server.sweepInterval
        server.settingsInForce = sources.inForce
        server.signIn = try signIn(sources)
        // Without authentication every caller has all rights, so other machines must not reach the port.
        guard !server.insecureNoAuth || server.listensOnLoopback else {
            throw CommandFailure(
                .usage,
                "--insecure-no-auth accepts every caller, so --host must be a loopback address; \(server.host) is not."
            )
        }
        return server
    }

    private static func connections(_ sources: SettingSources) throws(CommandFailure) -> ConnectionLimits {
        var limits = ConnectionLimits()
        let (counts, times) = (Int.within(1...10_000), Duration.within(.milliseconds(1) ... .seconds(3600)))
        limits.maximumConnections = try sources.read(.maxConnections, counts) ?? limits.maximumConnections
        limits.requestTimeout = try sources.read(.requestTimeout, times) ?? limits.requestTimeout
        return limits
    }

    private static func rate(_ setting: Setting, _ sources: SettingSources) throws(CommandFailure) -> RateLimit? {
        try sources.read(setting, Int.within(0...1_000_000)).flatMap { $0 == 0 ? nil : RateLimit(rate: $0) }
    }

    private static func tls(_ sources: SettingSources) throws(CommandFailure) -> (certificate: String, key: String)? {
        switch (try sources.text(.tlsCert), try sources.text(.tlsKey)) {
        case (nil, nil): return nil
        case (let certificate?, let key?): return (certificate, key)
        default: throw CommandFailure(.usage, "--tls-cert and --tls-key go together: give both, or neither.")
        }
    }

    private static func signIn(_ sources: SettingSources) throws(CommandFailure) -> SignInSettings? {
        let needed = [Setting.oidcIssuer, .oidcClientId, .oidcClientSecret, .oidcRoles, .publicUrl]
        let found = try needed.map { setting throws(CommandFailure) in try sources.text(setting) }
        let (values, claim) = (found.compactMap(\.self), try sources.text(.oidcClaim) ?? "groups")
        // A public URL alone does not enable the sign-in.
        guard values != [found[4]] && !values.isEmpty else { return nil }
        guard values.count == needed.count else {
            let flags = needed.map(\.flag).joined(separator: ", ")
            throw CommandFailure(.usage, "\(flags) go together: give all of them, or none.")
        }
        do throws(JSONFaultReason) {
            return try SignInSettings(
                issuer: values[0],
                clientID: values[1],
                clientSecret: Secret(values[2]),
                claim: claim,
                rules: values[3],
                publicURL: values[4]
            )
        } catch { throw CommandFailure(.usage, error.detail) }
    }

    private static func trustedProxies(_ sources: SettingSources) throws(CommandFailure) -> [AddressRange] {
        try sources.read(.trustedProxies) { value throws(JSONFaultReason) in
            let parts = (value.string ?? "").split(separator: ",")
            let ranges = parts.compactMap { part in AddressRange(part.filter { $0 != " " }) }
            guard ranges.count == parts.count else {
                throw JSONFaultReason("must list addresses or ranges such as 10.0.0.0/8,fd00::1")
            }
            return ranges
        } ?? []
    }

    /// Whether callers' requests cross a network unencrypted. Behind a trusted proxy, the proxy ends TLS.
    var isInTheClear: Bool { tls == nil && !server.listensOnLoopback && server.trustedProxies.isEmpty }
}
