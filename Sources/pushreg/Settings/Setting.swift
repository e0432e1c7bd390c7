import Configuration

/// One setting and the names that it goes by: a flag, an environment variable and a key of the config file.
struct Setting: Sendable, Hashable {
    /// The key in the config file, camelCase; the other names follow from it.
    let key: String
    let type: ConfigType
    /// The value where nobody gives one; nil for settings that may be absent.
    let fallback: ConfigContent?
    /// Whether the value may hold a password.
    let isSecret: Bool

    init(_ key: String, _ type: ConfigType, fallback: ConfigContent? = nil, isSecret: Bool = false) {
        self.key = key
        self.type = type
        self.fallback = fallback
        self.isSecret = isSecret
    }

    /// The flag, such as `--request-timeout`.
    var flag: String { "--" + words.joined(separator: "-") }

    /// The environment variable, such as `PUSHREG_REQUEST_TIMEOUT`.
    var variable: String {
        let name = words.joined(separator: "_").uppercased()
        // The one name that platforms as a service agree on.
        return self == .databaseUrl ? name : "PUSHREG_" + name
    }

    private var words: [String] {
        key.reduce(into: [""]) { words, letter in
            if letter.isUppercase { words.append("") }
            words[words.count - 1] += letter.lowercased()
        }
    }
}

extension Setting {
    /// The directory of a private Postgres.
    static let embedded = Setting("embedded", .string)
    /// Any libpq connection string.
    static let databaseUrl = Setting("databaseUrl", .string, isSecret: true)
    /// Whether `fsync` or `synchronous_commit` may be off.
    static let unsafeDurability = Setting("unsafeDurability", .bool, fallback: .bool(false))
    /// Whether plans are made for the values of each call: `force_generic_plan` or `auto`; what fits the database unless given.
    static let planCacheMode = Setting("planCacheMode", .string)
    /// Whether `serve` brings the schema up to date.
    static let migrate = Setting("migrate", .bool, fallback: .bool(false))
    static let host = Setting("host", .string, fallback: .string("127.0.0.1"))
    /// 0 to 65535; 0 picks a free port.
    static let port = Setting("port", .int, fallback: .int(8080))
    /// The port for metrics and probes without credentials, 0 to 65535; 0 picks a free port.
    static let adminPort = Setting("adminPort", .int)
    /// The file of the TLS certificate, and that of its key.
    static let tlsCert = Setting("tlsCert", .string)
    static let tlsKey = Setting("tlsKey", .string)
    /// Whether requests without credentials act as root.
    static let insecureNoAuth = Setting("insecureNoAuth", .bool, fallback: .bool(false))
    /// Whether issuers' keys may be fetched from the operator's own network.
    static let allowInternalJwks = Setting("allowInternalJwks", .bool, fallback: .bool(false))
    /// Requests a second by one key or signed-in user; 0 for any number.
    static let keyRate = Setting("keyRate", .int, fallback: .int(5000))
    /// Requests a second from one address; 0 for any number.
    static let addressRate = Setting("addressRate", .int, fallback: .int(500))
    /// Addresses and ranges of them in CIDR notation, with commas between.
    static let trustedProxies = Setting("trustedProxies", .string)
    /// The most connections to Postgres.
    static let maxConnections = Setting("maxConnections", .int, fallback: .int(16))
    /// How long a request may wait for Postgres, ISO 8601.
    static let requestTimeout = Setting("requestTimeout", .string, fallback: .string("PT5S"))
    /// How long the service rests between two sweeps, ISO 8601.
    static let sweepInterval = Setting("sweepInterval", .string, fallback: .string("PT1M"))
    static let logLevel = Setting("logLevel", .string, fallback: .string("info"))

    /// All settings of the service, in the order in which they are shown.
    static let all = [
        embedded, databaseUrl, unsafeDurability, planCacheMode, migrate, host, port, adminPort, tlsCert, tlsKey,
        insecureNoAuth, allowInternalJwks, keyRate, addressRate, trustedProxies, maxConnections, requestTimeout,
        sweepInterval, logLevel,
    ]

    /// The config file itself, which no config file can name.
    static let config = Setting("config", .string)
    /// The service that `demo` plays with.
    static let url = Setting("url", .string)
}
