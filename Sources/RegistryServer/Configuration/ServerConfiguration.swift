/// Where the server listens, what it believes, and how much it takes.
package struct ServerConfiguration: Sendable {
    /// The name or address to listen on.
    package var host: String
    /// The port to listen on; 0 lets the system choose.
    package var port: Int
    /// The port for those who run the service, on the same host, over plain HTTP: metrics and probes, which it asks no
    /// credentials for. Nil for none; 0 lets the system choose.
    package var adminPort: Int?
    /// The version of the program, as metrics and the console tell it.
    package var version = "unknown"
    /// Given when the service is told to stop, so that `/readyz` says so.
    package var shutdownNotice = ShutdownNotice()
    /// The issuers without keys, for the console and the metrics.
    package let issuers = IssuerJournal()
    /// Requests without credentials act as root. For trying things out: the caller makes sure of a loopback `host`.
    package var insecureNoAuth: Bool
    /// Issuers' keys may be fetched from loopback, private and link-local addresses, and over http.
    package var allowsInternalJWKS = false
    /// How many requests one key, or one signed-in user, may make; nil for any number. A publishable key may make so many from
    /// each network, and for each installation, and ten times as many in all.
    package var keyRate: RateLimit? = RateLimit(rate: 5000)
    /// How many requests may come from one address other than loopback; nil for any number.
    package var addressRate: RateLimit? = RateLimit(rate: 500)
    /// How many credentials that are not valid may come from one network other than loopback; nil for any number.
    package var failedCredentialRate: RateLimit? = RateLimit(rate: 20, burst: 100)
    /// How many heavy calls may be under way at once.
    package var heavyCalls = HeavyCallLimits()
    /// The proxies whose `X-Forwarded-For` is believed.
    package var trustedProxies: [AddressRange] = []
    /// Serves TLS with this certificate, and HTTP/2 beside HTTP/1.1; plain HTTP/1.1 without.
    package var tls: TLSIdentity?
    /// The sizes and times beyond which a request is refused or its connection closed.
    package var limits: Limits
    /// The settings as far as the console may show them.
    package var settingsInForce: [SettingInForce] = []
    /// How long it rests between two sweeps, on average.
    package var sweepInterval: Duration

    /// Makes a configuration; the defaults are those of `pushreg serve`.
    package init(
        host: String = "127.0.0.1",
        port: Int = 8080,
        insecureNoAuth: Bool = false,
        limits: Limits = Limits(),
        sweepInterval: Duration = .seconds(60)
    ) {
        self.host = host
        self.port = port
        self.insecureNoAuth = insecureNoAuth
        self.limits = limits
        self.sweepInterval = sweepInterval
    }

    /// How many connections may be open beside those that `limits` allows: ones that are being closed for others, and those
    /// of the admin port, where there is one, with the same headroom.
    package var connectionsBesideLimit: Int {
        let headroom = Limits.evictionHeadroom
        return headroom + (adminPort == nil ? 0 : Limits.adminConnections + headroom)
    }

    /// Whether `host` can be reached from this machine only, as `insecureNoAuth` demands.
    package var listensOnLoopback: Bool { LoopbackHost.matches(host.contains(":") ? "[\(host)]" : host) }
}
