import ArgumentParser
import RegistryCore

/// A flag, an environment variable, and a key of the config file.
///
/// The raw value is the key. The other names derive from it.
enum Setting: String, CaseIterable, Sendable {
    case embedded, databaseUrl, unsafeDurability, migrate, host, port, adminPort, tlsCert, tlsKey
    case insecureNoAuth, allowInternalJwks, keyRate, addressRate, trustedProxies, maxConnections, requestTimeout
    case sweepInterval, logLevel, publicUrl, oidcIssuer, oidcClientId, oidcClientSecret, oidcClaim, oidcRoles
    /// The config file, which cannot contain it.
    case config

    static let all = allCases.filter { $0 != .config }

    /// Such as `--request-timeout`.
    var flag: String { "--" + words.joined(separator: "-") }

    /// Such as `PUSHREG_REQUEST_TIMEOUT`.
    var variable: String {
        let name = words.joined(separator: "_").uppercased()
        // Hosting platforms use the name `DATABASE_URL`.
        return self == .databaseUrl ? name : "PUSHREG_" + name
    }

    private var words: [String] {
        rawValue.reduce(into: [""]) { words, letter in
            if letter.isUppercase { words.append("") }
            words[words.count - 1] += letter.lowercased()
        }
    }

    var namesDatabase: Bool { self == .embedded || self == .databaseUrl }

    var fallback: JSONValue? {
        switch self {
        case .unsafeDurability, .migrate, .insecureNoAuth, .allowInternalJwks: false
        case .host: "127.0.0.1"
        case .port: 8080
        case .keyRate: 5000
        case .addressRate: 500
        case .maxConnections: 16
        case .requestTimeout: "PT5S"
        case .sweepInterval: "PT1M"
        case .logLevel: "info"
        case .oidcClaim: "groups"
        default: nil
        }
    }

    /// Converts a variable's text. A text of another kind stays a text, which is refused when the value is read.
    func value(of text: String) -> JSONValue {
        switch (self, fallback) {
        case (.adminPort, _), (_, .integer): Int64(text).map(JSONValue.integer) ?? .string(text)
        case (_, .bool): Self.truths[text.lowercased()].map(JSONValue.bool) ?? .string(text)
        default: .string(text)
        }
    }

    private static let truths = ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false]

    fileprivate var help: String {
        switch self {
        case .embedded: "The directory of a private Postgres, created, started and stopped as needed"
        case .databaseUrl:
            "Any libpq connection string. Set a password in the variable, because other users of the machine can read flags"
        case .unsafeDurability:
            "Accepts a Postgres with fsync or synchronous_commit off, which may lose acknowledged writes; for tests only"
        case .migrate: "Migrates the schema before it serves; an embedded database is always migrated"
        case .host: "The address or host name to listen on"
        case .port: "The TCP port to listen on, or 0 for any free port; PORT is used if PUSHREG_PORT is not set"
        case .adminPort:
            "A second TCP port on the same host, over plain HTTP, for /metrics, /livez and /readyz without credentials"
        case .tlsCert:
            "Serves HTTP/2 and HTTP/1.1 over TLS with this PEM certificate, followed by its issuers; reloaded when it changes"
        case .tlsKey: "The private key of the certificate, in PEM without a passphrase"
        case .insecureNoAuth:
            "Lets requests without credentials act as root; for tests, and only on a loopback address"
        case .allowInternalJwks:
            """
            Allows http and loopback, private and link-local addresses in an app's jwksUrl; otherwise such URLs are \
            refused, because the service fetches them
            """
        case .keyRate:
            "Requests per second of one key or signed-in user on each instance, in bursts twice that number; 0 for no limit"
        case .addressRate:
            "Requests per second from one address except loopback, in bursts twice that number; 0 for no limit"
        case .trustedProxies:
            """
            The proxies in front of the service, such as 10.0.0.0/8,fd00::1; the client's address is then the rightmost \
            address in X-Forwarded-For that is not one of them
            """
        case .maxConnections: "The maximum number of connections to Postgres"
        case .requestTimeout: "How long a request may wait for Postgres, as an ISO 8601 duration"
        case .sweepInterval:
            "The pause between sweeps, which record expiry and delete old records, as an ISO 8601 duration"
        case .logLevel:
            "The lowest level that is logged: trace, debug, info, notice, warning, error or critical"
        case .publicUrl: "The origin at which browsers reach the console, such as https://push.example.com"
        case .oidcIssuer: "The identity provider (OpenID Connect) whose users can sign in to the console"
        case .oidcClientId: "The client id that the identity provider gave the console"
        case .oidcClientSecret: "The client's secret. Use the variable, because other users can read flags"
        case .oidcClaim: "The claim of the ID token that decides about roles: a text, or an array of texts"
        case .oidcRoles: "Roles by the claim's value: admin:com.example.food=Admins; auditor:com.example.food=Staff"
        case .config: "A JSON file of settings, an object with keys such as \"port\" and \"databaseUrl\""
        }
    }
}

extension ArgumentHelp {
    static func of(_ setting: Setting, _ valueName: String? = nil) -> ArgumentHelp {
        let fallback = setting.fallback.map { $0 == .bool(false) ? "" : "; \($0.string ?? $0.description) by default" }
        return ArgumentHelp("\(setting.help)\(fallback ?? "") (\(setting.variable)).", valueName: valueName)
    }
}
