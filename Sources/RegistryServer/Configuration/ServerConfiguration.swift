import Crypto
import Foundation
import RegistryCore
import Synchronization

package struct ServerConfiguration: Sendable {
    package var host: String
    /// 0 lets the system choose.
    package var port: Int
    /// Metrics and probes over plain HTTP without credentials, on `host`. Nil for none. 0 lets the system choose.
    package var adminPort: Int?
    package var version = "unknown"
    /// For `/readyz` during a shutdown.
    package var shutdownNotice = ShutdownNotice()
    /// Requests without credentials act as root. The caller must ensure a loopback `host`.
    package var insecureNoAuth: Bool
    /// Allows issuers' keys from loopback, private and link-local addresses, and over http.
    package var allowsInternalJWKS = false
    /// Sign-in to the console with an identity provider; nil for keys only.
    package var signIn: SignInSettings?
    /// Per key or signed-in user. Nil for no limit. A publishable key has this limit per network and per installation,
    /// and ten times as much in total.
    package var keyRate: RateLimit? = RateLimit(rate: 5000)
    /// Per address, except loopback. Nil for no limit.
    package var addressRate: RateLimit? = RateLimit(rate: 500)
    /// Invalid credentials per network, except loopback. Nil for no limit.
    package var failedCredentialRate: RateLimit? = RateLimit(rate: 20, burst: 100)
    package var heavyCalls = HeavyCallLimits()
    package var trustedProxies: [AddressRange] = []
    /// Serves TLS with HTTP/2 and HTTP/1.1. Without it, plain HTTP/1.1.
    package var tls: TLSIdentity?
    package var limits = Limits()
    /// For the console, without secrets.
    package var settingsInForce: [SettingInForce] = []
    package var sweepInterval = Duration.seconds(60)

    /// The defaults of `pushreg serve`.
    package init(host: String = "127.0.0.1", port: Int = 8080, insecureNoAuth: Bool = false) {
        (self.host, self.port, self.insecureNoAuth) = (host, port, insecureNoAuth)
    }

    /// The maximum of connections in addition to `limits`: evicted ones that are closing, and the admin port's.
    package var connectionsBesideLimit: Int {
        let headroom = Limits.evictionHeadroom
        return headroom + (adminPort == nil ? 0 : Limits.adminConnections + headroom)
    }

    package var listensOnLoopback: Bool { LoopbackHost.matches(host.contains(":") ? "[\(host)]" : host) }
}

package struct RateLimit: Sendable, Hashable {
    /// Sustained requests per second.
    package var rate: Int
    package var burst: Int

    /// - Parameter burst: By default twice the rate.
    package init(rate: Int, burst: Int? = nil) { (self.rate, self.burst) = (rate, burst ?? rate * 2) }
}

package struct SettingInForce: Sendable, Hashable {
    /// The camelCase key of the config file.
    package let name: String
    /// With `***` in place of secrets. Nil if not set.
    package let value: String?
    /// A flag, the environment, a file, or the default.
    package let origin: String
    /// Only root may see the address of the database.
    package let isAboutDatabase: Bool

    package init(name: String, value: String?, origin: String, isAboutDatabase: Bool = false) {
        (self.name, self.value, self.origin, self.isAboutDatabase) = (name, value, origin, isAboutDatabase)
    }
}

/// Signals the start of a shutdown. The admin port still answers until the last request in flight is complete.
package final class ShutdownNotice: Sendable {
    private let state = Atomic(false)

    package init() {}

    package func give() { state.store(true, ordering: .relaxed) }
    var isGiven: Bool { state.load(ordering: .relaxed) }
}

extension ServerConfiguration {
    /// Concurrent heavy calls per caller on each instance: batches, streams, and calls that read or change many rows.
    package struct HeavyCallLimits: Sendable, Hashable {
        /// By the path or `X-Installation-Id`.
        package var installation = 1
        /// An IPv4 address or an IPv6 /64, except loopback.
        package var network = 4
        /// A signed-in user. A publishable key counts by installation and network, because all callers can have it.
        package var user = 16
        /// A key of another role.
        package var key = 32

        package init() {}
    }

    package struct Limits: Sendable {
        /// In bytes, of a body about one record.
        package var singleBody = 64 * 1024
        /// In bytes.
        package var batchBody = 2 * 1024 * 1024
        /// JSON values per body, without the names of members.
        package var bodyValues = 100_000
        /// In bytes, of all undecoded batches. A network other than loopback gets at most an eighth.
        package var bodiesUnderWay = 64 * 1024 * 1024
        /// The same for bodies about one record, so that half-sent batches do not delay registrations.
        package var singleBodiesUnderWay = 16 * 1024 * 1024
        /// The same for large responses, until they are read.
        package var unreadResponses = 256 * 1024 * 1024
        /// From the end of the head to the end of the body.
        package var requestDeadline: Duration = .seconds(10)
        /// The minimum duration of a refusal for invalid credentials on a path with an app, so that the time does not
        /// reveal whether the app exists.
        package var failedCredentialDelay: Duration = .milliseconds(10)
        /// Without a request, or within the head of a request.
        package var idleTimeout: Duration = .seconds(30)
        package var headerFields = 100
        /// In bytes, of a field (name and value) and of the request line.
        package var headerField = 16 * 1024
        /// In bytes, of all fields and the request line.
        package var header = 32 * 1024
        /// Bytes of a body that are read and dropped after an early response.
        package var unreadBody = 2 * 1024 * 1024
        /// Above this number, idle connections of the network with the most connections are closed.
        package var connections = 10_000
        /// Additional connections while evicted ones close. Above it, the listener pauses.
        static let evictionHeadroom = 128
        /// Connections of the admin port. Prometheus and probes have few.
        static let adminConnections = 64
        /// Per IPv4 address or IPv6 /64, except loopback and trusted proxies. Further connections are closed.
        package var addressConnections = 1000
        /// The longest pause of a reader in a response that exceeds the socket's buffers.
        package var stalledReader: Duration = .seconds(60)
        /// For a complete response that exceeds the socket's buffers.
        package var responseDeadline: Duration = .seconds(3600)
        /// How long a connection waits for one more request during shutdown. The response to that request announces the
        /// close. Zero closes idle connections at once.
        package var lastRequestDeadline: Duration = .zero
        package var backlog = 1024
        /// The lifetime of the metrics that come from Postgres.
        package var totalsLifetime: Duration = .seconds(30)

        package init() {}
    }
}

/// Sign-in to the console with the company's identity provider.
package struct SignInSettings: Sendable {
    struct Rule: Sendable, Hashable {
        let role: Role
        let app: BundleID
        /// The value of the claim that gives the role.
        let value: UTF8Text
    }

    /// Exactly as the provider's discovery document and tokens state it.
    let issuer: String
    let clientID: String
    let clientSecret: Secret
    /// The claim of the ID token that decides about roles.
    let claim: String
    let rules: [Rule]
    /// Not taken from requests, because their `Host` is the caller's choice.
    let publicURL: String
    /// Seals sessions and sign-ins under way: all instances with these settings accept them, and a change ends them.
    let sealingKey: [UInt8]

    /// - Parameters:
    ///   - rules: such as `admin:com.example.food=Push admins`, separated by semicolons.
    ///   - publicURL: the origin at which browsers reach the console.
    /// - Throws: a sentence that names the setting.
    package init(
        issuer: String,
        clientID: String,
        clientSecret: Secret,
        claim: String,
        rules: String,
        publicURL: String
    ) throws(JSONFaultReason) {
        guard issuer.wholeMatch(of: /https:\/\/[!-~]+/) != nil || Self.isLocal(issuer), !issuer.contains(/[?#]/) else {
            throw JSONFaultReason("--oidc-issuer must be an https URL without a query.")
        }
        // The seal of their own cookie would let users guess a short one.
        guard clientSecret.revealed.utf8.count >= 20 else {
            throw JSONFaultReason("--oidc-client-secret must have at least 20 characters.")
        }
        // Elsewhere codes and cookies would travel readably.
        guard let origin = publicURL.wholeMatch(of: /(https?:\/\/[A-Za-z0-9.:\[\]-]+)\/?/)?.1,
            origin.hasPrefix("https:") || Self.isLocal(publicURL)
        else { throw JSONFaultReason("--public-url must be an origin with TLS, such as https://push.example.com.") }
        let texts = rules.split(separator: ";").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        let parsed = texts.filter { !$0.isEmpty }.map(Self.rule)
        // The places of more rules would not fit in a cookie.
        guard (1...200).contains(parsed.count), !parsed.contains(nil) else {
            let example = "admin:com.example.food=Push admins; auditor:com.example.food=Everyone"
            throw JSONFaultReason("--oidc-roles must list 1 to 200 rules such as \(example).")
        }
        (self.issuer, self.clientID, self.clientSecret, self.claim) = (issuer, clientID, clientSecret, claim)
        (self.rules, self.publicURL) = (parsed.compactMap(\.self), String(origin))
        let all = [issuer, clientID, claim, String(origin), "\(parsed)"].joined(separator: "\n")
        sealingKey = Self.code("pushreg console sign-in\n\(all)", Array(clientSecret.revealed.utf8))
    }

    private static func rule(_ text: String) -> Rule? {
        // The value may contain both signs, as the name of a group in a directory does.
        guard let match = text.wholeMatch(of: /(auditor|admin):([^= ]+) *= *(.+)/),
            let role = Role(rawValue: String(match.1)), let app = try? BundleID(String(match.2))
        else { return nil }
        return Rule(role: role, app: app, value: UTF8Text(String(match.3)))
    }

    var redirectURI: String { publicURL + ConsoleLink.callback }
    var providerName: String { URL(string: issuer)?.host ?? issuer }

    /// Whether a URL is of plain HTTP on this machine, for trying things out.
    static func isLocal(_ url: String) -> Bool {
        url.wholeMatch(of: /http:\/\/([^\/@]+)[!-~]*/).map { LoopbackHost.matches(String($0.1)) } ?? false
    }

    static func code(_ text: String, _ key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: key)))
    }

    /// A person as the holder of a session: their name, and the places of the fulfilled rules. For each app there is one,
    /// of an admin if possible. Nil without any.
    func holder(_ name: String, _ values: [String]) -> String? {
        let values = Set(values.map { UTF8Text($0) })
        let places = rules.indices.filter { values.contains(rules[$0].value) }
        let best = Dictionary(places.map { (rules[$0].app, $0) }) { rules[$1].role == .admin ? $1 : $0 }
        let parts = [Base64URL.encode(Array(name.utf8))] + best.values.sorted().map(String.init)
        return best.isEmpty ? nil : parts.joined(separator: ":")
    }

    /// - Parameter holder: of a session that was sealed with these settings.
    func person(of holder: String) -> (name: UTF8Text, grants: [Rule]) {
        let parts = holder.split(separator: ":")
        let name = String(decoding: Base64URL.decode(parts[0]) ?? Data(), as: UTF8.self)
        return (UTF8Text(name), parts.dropFirst().compactMap { Int($0) }.map { rules[$0] })
    }
}
