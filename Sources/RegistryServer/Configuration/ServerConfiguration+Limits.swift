extension ServerConfiguration {
    /// Concurrent heavy calls per caller on each instance: batches, streams, and calls that read or change many rows.
    package struct HeavyCallLimits: Sendable, Hashable {
        /// By the path or `X-Installation-Id`.
        package var installation = 1
        /// An IPv4 address or an IPv6 /64, except loopback.
        package var network = 4
        /// A signed-in user. A publishable key counts only by installation and network, because all callers can have
        /// it.
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
        /// In bytes, of all undecoded bodies about one record. Separate, so that half-sent batches do not delay
        /// registrations.
        package var singleBodiesUnderWay = 16 * 1024 * 1024
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
