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
    package let issuers = IssuerJournal()
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
        self.host = host
        self.port = port
        self.insecureNoAuth = insecureNoAuth
    }

    /// The maximum of connections in addition to `limits`: evicted ones that are closing, and the admin port's, with
    /// the same headroom.
    package var connectionsBesideLimit: Int {
        let headroom = Limits.evictionHeadroom
        return headroom + (adminPort == nil ? 0 : Limits.adminConnections + headroom)
    }

    /// `insecureNoAuth` requires this.
    package var listensOnLoopback: Bool { LoopbackHost.matches(host.contains(":") ? "[\(host)]" : host) }
}

package struct RateLimit: Sendable, Hashable {
    /// Sustained requests per second.
    package var rate: Int
    /// Requests at once.
    package var burst: Int

    /// Allows a burst of twice the rate.
    package init(rate: Int) { self.init(rate: rate, burst: rate * 2) }

    package init(rate: Int, burst: Int) {
        self.rate = rate
        self.burst = burst
    }
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
        self.name = name
        self.value = value
        self.origin = origin
        self.isAboutDatabase = isAboutDatabase
    }
}

/// Signals the start of a shutdown. The admin port still answers until the last request in flight is complete.
package final class ShutdownNotice: Sendable {
    private let state = Atomic(false)

    package init() {}

    package func give() { state.store(true, ordering: .relaxed) }

    var isGiven: Bool { state.load(ordering: .relaxed) }
}
