import Logging
import RegistryCore
import RegistryServer

/// How the service listens and how it uses its database, as the sources say.
///
/// Reads `migrate`, `host`, `port`, `adminPort`, `tlsCert`, `tlsKey`, `insecureNoAuth`, `allowInternalJwks`, `keyRate`,
/// `addressRate`, `trustedProxies`, `maxConnections`, `requestTimeout`, `sweepInterval` and `logLevel`.
struct ServiceSettings: Sendable {
    let migrates: Bool
    let host: String
    let port: Int
    /// The port for metrics and probes; nil for none.
    let adminPort: Int?
    /// The paths of certificate and key; nil for plain HTTP.
    let tls: (certificate: String, key: String)?
    let isInsecure: Bool
    let allowsInternalJWKS: Bool
    let keyRate: RateLimit?
    let addressRate: RateLimit?
    let trustedProxies: [AddressRange]
    let maximumConnections: Int
    let requestTimeout: Duration
    let sweepInterval: Duration
    let logLevel: Logger.Level

    /// - Throws: a ``CommandFailure`` that names the first setting whose value will not do.
    init(_ sources: SettingSources) throws(CommandFailure) {
        migrates = try sources.find(.migrate)?.isTrue ?? false
        host = try sources.nonEmptyText(.host) ?? ""
        port = try sources.number(.port, in: 0...65_535)
        adminPort = try sources.find(.adminPort) == nil ? nil : sources.number(.adminPort, in: 0...65_535)
        tls = try Self.tls(sources)
        isInsecure = try sources.find(.insecureNoAuth)?.isTrue ?? false
        allowsInternalJWKS = try sources.find(.allowInternalJwks)?.isTrue ?? false
        keyRate = try Self.rate(.keyRate, sources)
        addressRate = try Self.rate(.addressRate, sources)
        trustedProxies = try Self.trustedProxies(sources)
        maximumConnections = try sources.number(.maxConnections, in: 1...10_000)
        requestTimeout = try sources.duration(.requestTimeout, in: .milliseconds(1) ... .seconds(3600), such: "PT5S")
        sweepInterval = try sources.duration(.sweepInterval, in: .seconds(1) ... .seconds(86_400), such: "PT1M")
        logLevel = try Self.logLevel(sources)
        if isInsecure { try Self.checkLoopback(host) }
    }

    private static func rate(_ setting: Setting, _ sources: SettingSources) throws(CommandFailure) -> RateLimit? {
        let rate = try sources.number(setting, in: 0...1_000_000)
        return rate == 0 ? nil : RateLimit(rate: rate)
    }

    private static func tls(_ sources: SettingSources) throws(CommandFailure) -> (certificate: String, key: String)? {
        switch (try sources.nonEmptyText(.tlsCert), try sources.nonEmptyText(.tlsKey)) {
        case (nil, nil): return nil
        case (let certificate?, let key?): return (certificate, key)
        default: throw CommandFailure(.usage, "--tls-cert and --tls-key go together: give both, or neither.")
        }
    }

    private static func trustedProxies(_ sources: SettingSources) throws(CommandFailure) -> [AddressRange] {
        guard let found = try sources.find(.trustedProxies), let text = found.text else { return [] }
        return try text.split(separator: ",").map { part throws(CommandFailure) in
            guard let range = AddressRange(part.filter { $0 != " " }) else {
                throw CommandFailure(
                    .usage,
                    "\(found.givenName) must list addresses or ranges such as 10.0.0.0/8,fd00::1."
                )
            }
            return range
        }
    }

    private static func logLevel(_ sources: SettingSources) throws(CommandFailure) -> Logger.Level {
        guard let found = try sources.find(.logLevel), let text = found.text else { return .info }
        guard let level = Logger.Level(rawValue: text) else {
            let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(.usage, "\(found.givenName) must be one of \(levels).")
        }
        return level
    }

    // Anyone who reaches the port may do anything: no address that another machine can reach is taken.
    private static func checkLoopback(_ host: String) throws(CommandFailure) {
        guard ServerConfiguration(host: host).listensOnLoopback else {
            throw CommandFailure(
                .usage,
                "--insecure-no-auth lets everyone in, so it listens on a loopback address only; \(host) is none."
            )
        }
    }
}

extension ServiceSettings {
    /// Whether others could listen to what callers send; a trusted proxy ends TLS.
    var isInTheClear: Bool {
        tls == nil && !ServerConfiguration(host: host).listensOnLoopback && trustedProxies.isEmpty
    }
}

extension SettingSources {
    fileprivate func duration(
        _ setting: Setting,
        in range: ClosedRange<Duration>,
        such example: String
    ) throws(CommandFailure) -> Duration {
        guard let found = try find(setting), let text = found.text else { return range.lowerBound }
        guard let duration = ISO8601Duration.parse(text), range.contains(duration) else {
            let limits = "\(ISO8601Duration.format(range.lowerBound)) to \(ISO8601Duration.format(range.upperBound))"
            throw CommandFailure(
                .usage,
                "\(found.givenName) must be an ISO 8601 duration of \(limits), such as \(example)."
            )
        }
        return duration
    }

    fileprivate func number(_ setting: Setting, in range: ClosedRange<Int>) throws(CommandFailure) -> Int {
        guard let found = try find(setting), let number = found.number else { return range.lowerBound }
        guard range.contains(number) else {
            throw CommandFailure(
                .usage,
                "\(found.givenName) must be between \(range.lowerBound) and \(range.upperBound)."
            )
        }
        return number
    }
}
