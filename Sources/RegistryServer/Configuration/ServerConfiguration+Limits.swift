extension ServerConfiguration {
    /// How many heavy calls may be under way at once of one caller, on each instance: batches, streams, and what reads or
    /// changes many rows.
    package struct HeavyCallLimits: Sendable, Hashable {
        /// Of one installation, where the path or `X-Installation-Id` names it.
        package var installation = 1
        /// Of one network other than loopback: an IPv4 address, or the /64 of an IPv6 address.
        package var network = 4
        /// Of one signed-in user. A publishable key, which everybody has, is counted by installation and network alone.
        package var user = 16
        /// Of one key of another role.
        package var key = 32

        /// Makes the limits that hold by default.
        package init() {}
    }

    /// The sizes and times beyond which a request is refused or its connection closed.
    package struct Limits: Sendable {
        /// The largest body about one thing, in bytes.
        package var singleBody = 64 * 1024
        /// The largest body of a batch, in bytes.
        package var batchBody = 2 * 1024 * 1024
        /// How many JSON values a body may hold, names of members not counted.
        package var bodyValues = 100_000
        /// All batches together that are not decoded yet, in bytes; one network other than loopback may have an eighth.
        package var bodiesUnderWay = 64 * 1024 * 1024
        /// All bodies about one record that are not decoded yet, in bytes. They have room of their own, so that half-sent
        /// batches do not delay them.
        package var singleBodiesUnderWay = 16 * 1024 * 1024
        /// How long a request may take to arrive, from the end of its head to the end of its body.
        package var requestDeadline: Duration = .seconds(10)
        /// How soon after its beginning a request whose credentials are not valid may be told so, where its path names an app:
        /// so nobody learns by the time whether there is such an app.
        package var failedCredentialDelay: Duration = .milliseconds(10)
        /// How long a connection may stay without a request, or a request's head without its end.
        package var idleTimeout: Duration = .seconds(30)
        /// How many fields a request's header may have.
        package var headerFields = 100
        /// The longest field of a header, name and value, and the longest request line, in bytes.
        package var headerField = 16 * 1024
        /// All fields of a header together with the request line, in bytes.
        package var header = 32 * 1024
        /// How much of a body is still taken, and dropped, once its request was answered, in bytes.
        package var unreadBody = 2 * 1024 * 1024
        /// How many connections may be open; for more, idle ones of the network that holds the most are closed.
        package var connections = 10_000
        /// How many more may be open while those that were closed for others still close; once as many are, nobody is let in
        /// for a moment.
        static let evictionHeadroom = 128
        /// How many connections the admin port may have: Prometheus and probes have few.
        static let adminConnections = 64
        /// How many connections may be open from one IPv4 address, or IPv6 network of 64 bits, other than loopback and the
        /// trusted proxies; more are closed.
        package var addressConnections = 1000
        /// How long a reader may leave an answer lying that does not fit the socket's buffers.
        package var stalledReader: Duration = .seconds(60)
        /// How long a reader may take over one answer that does not fit the socket's buffers.
        package var responseDeadline: Duration = .seconds(3600)
        /// How long a connection waits for one request more when the server stops; its answer says that it was the last.
        /// Zero closes those that wait at once.
        package var lastRequestDeadline: Duration = .zero
        /// How many connections may wait to be accepted.
        package var backlog = 1024
        /// How long what is known of an app is believed before it is read again.
        package var appLifetime: Duration = .seconds(5)
        /// How long metrics show what they read in Postgres before they read it again.
        package var totalsLifetime: Duration = .seconds(30)

        /// Makes the limits that hold by default.
        package init() {}
    }
}
