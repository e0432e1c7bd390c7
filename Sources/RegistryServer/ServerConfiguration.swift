/// Where the server listens, what it believes, and how much it takes.
public struct ServerConfiguration: Sendable {
    /// The name or address to listen on.
    public var host: String
    /// The port to listen on; 0 lets the system choose.
    public var port: Int
    /// The port for those who run the service, on the same host, over plain HTTP: metrics and probes, which it asks no
    /// credentials for. Nil for none; 0 lets the system choose.
    public var adminPort: Int?
    /// The version of the program, as metrics and the console tell it.
    public var version = "unknown"
    /// Given when the service is told to stop, so that `/readyz` says so.
    public var shutdownNotice = ShutdownNotice()
    /// Requests without credentials act as root. For trying things out: the caller makes sure of a loopback `host`.
    public var insecureNoAuth: Bool
    /// Issuers' keys may be fetched from loopback, private and link-local addresses, and over http.
    public var allowsInternalJWKS: Bool
    /// How many requests one key, or one signed-in user, may make; nil for any number.
    public var keyRate: RateLimit? = RateLimit(rate: 5000)
    /// How many requests may come from one address other than loopback; nil for any number.
    public var addressRate: RateLimit? = RateLimit(rate: 500)
    /// The proxies whose `X-Forwarded-For` is believed.
    public var trustedProxies: [AddressRange] = []
    /// Serves TLS with this certificate, and HTTP/2 beside HTTP/1.1; plain HTTP/1.1 without.
    public var tls: TLSIdentity?
    /// The sizes and times beyond which a request is refused or its connection closed.
    public var limits: Limits
    /// The settings as far as the console may show them.
    public var settingsInForce: [SettingInForce] = []
    /// How long it rests between two sweeps, on average.
    public var sweepInterval: Duration

    /// Makes a configuration; the defaults are those of `pushreg serve`.
    public init(
        host: String = "127.0.0.1",
        port: Int = 8080,
        insecureNoAuth: Bool = false,
        allowsInternalJWKS: Bool = false,
        limits: Limits = Limits(),
        sweepInterval: Duration = .seconds(60)
    ) {
        self.host = host
        self.port = port
        self.insecureNoAuth = insecureNoAuth
        self.allowsInternalJWKS = allowsInternalJWKS
        self.limits = limits
        self.sweepInterval = sweepInterval
    }

    /// Whether `host` can be reached from this machine only, as `insecureNoAuth` demands.
    public var listensOnLoopback: Bool { LoopbackHost.matches(host.contains(":") ? "[\(host)]" : host) }

    /// The sizes and times beyond which a request is refused or its connection closed.
    public struct Limits: Sendable {
        /// The largest body about one thing, in bytes.
        public var singleBody = 64 * 1024
        /// The largest body of a batch, in bytes.
        public var batchBody = 2 * 1024 * 1024
        /// How long a request may take to arrive, from the end of its head to the end of its body.
        public var requestDeadline: Duration = .seconds(10)
        /// How long a connection may stay without a request, or a request's head without its end.
        public var idleTimeout: Duration = .seconds(30)
        /// How many fields a request's header may have.
        public var headerFields = 100
        /// The longest field of a header, name and value, and the longest request line, in bytes.
        public var headerField = 16 * 1024
        /// All fields of a header together with the request line, in bytes.
        public var header = 32 * 1024
        /// How much of a body is still taken, and dropped, once its request was answered, in bytes.
        public var unreadBody = 2 * 1024 * 1024
        /// How many connections may be open; more wait to be accepted.
        public var connections = 10_000
        /// How many connections may be open from one address other than loopback and the trusted proxies; more are closed.
        public var addressConnections = 1000
        /// How long a reader may leave an answer lying that does not fit the socket's buffers.
        public var stalledReader: Duration = .seconds(60)
        /// How long a reader may take over one answer that does not fit the socket's buffers.
        public var answerDeadline: Duration = .seconds(3600)
        /// How many connections may wait to be accepted.
        public var backlog = 1024
        /// How long what is known of an app is believed before it is read again.
        public var appLifetime: Duration = .seconds(5)
        /// How long a count of what there is in Postgres is believed before metrics ask for another.
        public var censusLifetime: Duration = .seconds(30)

        /// Makes the limits of section 4 of the contract.
        public init() {}
    }
}
