import ArgumentParser
import Configuration

/// The flags of the service beside those of its database; optional and without defaults for the same reason.
struct ServiceOptions: ParsableArguments {
    @Flag(
        inversion: .prefixedNo,
        help: "Brings the schema up to date before it serves; an embedded database always is (PUSHREG_MIGRATE)."
    )
    var migrate: Bool?

    @Option(help: "The address or host name to listen on; 127.0.0.1 unless given (PUSHREG_HOST).")
    var host: String?

    @Option(help: "The TCP port to listen on, 0 for any that is free; 8080 unless given (PUSHREG_PORT).")
    var port: Int?

    @Option(
        help: ArgumentHelp(
            "A second TCP port on the same host, over plain HTTP, for /metrics, /livez and /readyz without credentials; "
                + "none unless given (PUSHREG_ADMIN_PORT).",
            valueName: "port"
        )
    )
    var adminPort: Int?

    @Option(
        help: ArgumentHelp(
            "Serves TLS, HTTP/2 and HTTP/1.1, with this certificate in PEM, its issuers after it; read again when it "
                + "changes (PUSHREG_TLS_CERT).",
            valueName: "file"
        )
    )
    var tlsCert: String?

    @Option(
        help: ArgumentHelp(
            "The private key of the certificate, in PEM without a passphrase (PUSHREG_TLS_KEY).",
            valueName: "file"
        )
    )
    var tlsKey: String?

    @Flag(
        help: """
            Lets requests without credentials act as root, for trying things out; it then listens on a loopback address \
            only (PUSHREG_INSECURE_NO_AUTH).
            """
    )
    var insecureNoAuth = false

    @Flag(
        help: """
            Lets an app's jwksUrl point to loopback, private and link-local addresses, and be http; without it such URLs \
            are refused, for the service itself asks them (PUSHREG_ALLOW_INTERNAL_JWKS).
            """
    )
    var allowInternalJwks = false

    @Option(
        help: ArgumentHelp(
            "Requests a second that one key or signed-in user may make on each instance, twice as many at once; 5000 "
                + "unless given, 0 for any number (PUSHREG_KEY_RATE).",
            valueName: "count"
        )
    )
    var keyRate: Int?

    @Option(
        help: ArgumentHelp(
            "Requests a second that may come from one address, twice as many at once; loopback is not counted; 500 "
                + "unless given, 0 for any number (PUSHREG_ADDRESS_RATE).",
            valueName: "count"
        )
    )
    var addressRate: Int?

    @Option(
        help: ArgumentHelp(
            "The proxies in front of the service, such as 10.0.0.0/8,fd00::1: the address that counts is then the "
                + "rightmost of X-Forwarded-For that is none of them (PUSHREG_TRUSTED_PROXIES).",
            valueName: "ranges"
        )
    )
    var trustedProxies: String?

    @Option(
        help: ArgumentHelp(
            "The most connections to Postgres; 16 unless given (PUSHREG_MAX_CONNECTIONS).",
            valueName: "count"
        )
    )
    var maxConnections: Int?

    @Option(
        help: ArgumentHelp(
            "How long a request may wait for Postgres, as an ISO 8601 duration; PT5S unless given "
                + "(PUSHREG_REQUEST_TIMEOUT).",
            valueName: "duration"
        )
    )
    var requestTimeout: String?

    @Option(
        help: ArgumentHelp(
            "How long the service rests between two sweeps (expiry written down, old records deleted), as an ISO 8601 "
                + "duration; PT1M unless given (PUSHREG_SWEEP_INTERVAL).",
            valueName: "duration"
        )
    )
    var sweepInterval: String?

    @Option(
        help: ArgumentHelp(
            "The least severe events that are logged: trace, debug, info, notice, warning, error or critical; info "
                + "unless given (PUSHREG_LOG_LEVEL).",
            valueName: "level"
        ),
        completion: .list(["trace", "debug", "info", "notice", "warning", "error", "critical"])
    )
    var logLevel: String?

    /// The settings that were given as flags.
    var flags: [Setting: ConfigContent] {
        var flags: [Setting: ConfigContent] = [:]
        flags[.migrate] = migrate.map { .bool($0) }
        flags[.host] = host.map { .string($0) }
        flags[.port] = port.map { .int($0) }
        flags[.adminPort] = adminPort.map { .int($0) }
        flags[.tlsCert] = tlsCert.map { .string($0) }
        flags[.tlsKey] = tlsKey.map { .string($0) }
        flags[.insecureNoAuth] = insecureNoAuth ? .bool(true) : nil
        flags[.allowInternalJwks] = allowInternalJwks ? .bool(true) : nil
        flags[.keyRate] = keyRate.map { .int($0) }
        flags[.addressRate] = addressRate.map { .int($0) }
        flags[.trustedProxies] = trustedProxies.map { .string($0) }
        flags[.maxConnections] = maxConnections.map { .int($0) }
        flags[.requestTimeout] = requestTimeout.map { .string($0) }
        flags[.sweepInterval] = sweepInterval.map { .string($0) }
        flags[.logLevel] = logLevel.map { .string($0) }
        return flags
    }
}
