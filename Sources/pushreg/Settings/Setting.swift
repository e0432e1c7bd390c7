import ArgumentParser
import RegistryCore

/// A flag, an environment variable, and a key of the config file.
///
/// The raw value is the key. The other names derive from it.
enum Setting: String, CaseIterable, Sendable {
    case embedded, databaseUrl, unsafeDurability, planCacheMode, migrate, host, port, adminPort, tlsCert, tlsKey
    case insecureNoAuth, allowInternalJwks, keyRate, addressRate, trustedProxies, maxConnections, requestTimeout
    case sweepInterval, logLevel, publicUrl, oidcIssuer, oidcClientId, oidcClientSecret, oidcClaim, oidcRoles
    /// `config` names the config file and `url` the service of `demo`. The config file cannot contain them.
    case config, url

    /// The raw value completes "must be …".
    enum Kind: String {
        case text
        case number = "a whole number"
        case truth = "true or false"
    }

    static let all = allCases.filter { $0 != .config && $0 != .url }

    /// Such as `--request-timeout`.
    var flag: String { "--" + words.joined(separator: "-") }

    /// Such as `PUSHREG_REQUEST_TIMEOUT`.
    var variable: String {
        let name = words.joined(separator: "_").uppercased()
        // Hosting platforms use the name `DATABASE_URL`.
        return self == .databaseUrl ? name : "PUSHREG_" + name
    }

    /// Hosting platforms pass the port in `PORT`. ``variable`` takes precedence.
    var platformVariable: String? { self == .port ? "PORT" : nil }

    private var words: [String] {
        rawValue.reduce(into: [""]) { words, letter in
            if letter.isUppercase { words.append("") }
            words[words.count - 1] += letter.lowercased()
        }
    }

    var namesDatabase: Bool { self == .embedded || self == .databaseUrl }

    var kind: Kind {
        switch (self, fallback) {
        case (.adminPort, _), (_, .integer): .number
        case (_, .bool): .truth
        default: .text
        }
    }

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

    /// Converts a variable's text. Nil if it is of another kind.
    func value(of text: String) -> JSONValue? {
        switch kind {
        case .text: .string(text)
        case .number: Int64(text).map(JSONValue.integer)
        case .truth: Self.truths[text.lowercased()].map(JSONValue.bool)
        }
    }

    private static let truths = ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false]

    func takes(_ value: JSONValue) -> Bool {
        switch (kind, value) {
        case (.text, .string), (.number, .integer), (.truth, .bool): true
        default: false
        }
    }
}

extension Setting {
    private var help: String {
        switch self {
        case .embedded: "The directory of a private Postgres, which is made, started and stopped as needed"
        case .databaseUrl:
            "Any libpq connection string. Give a password by the variable: other users of the machine can read flags"
        case .unsafeDurability:
            "Accepts a Postgres with fsync or synchronous_commit off, which may lose acknowledged writes; for tests only"
        case .planCacheMode:
            """
            Postgres's plan_cache_mode: force_generic_plan, which plans each statement once, or auto. Unless given it is \
            the one that fits: auto on Citus, else force_generic_plan
            """
        case .migrate: "Brings the schema up to date before it serves; an embedded database always is"
        case .host: "The address or host name to listen on"
        case .port: "The TCP port to listen on, 0 for any that is free; without PUSHREG_PORT the variable PORT counts"
        case .adminPort:
            "A second TCP port on the same host, over plain HTTP, for /metrics, /livez and /readyz without credentials"
        case .tlsCert:
            "Serves HTTP/2 and HTTP/1.1 over TLS with this certificate in PEM, its issuers after it; read when it changes"
        case .tlsKey: "The private key of the certificate, in PEM without a passphrase"
        case .insecureNoAuth:
            "Lets requests without credentials act as root, for trying things out; listens on a loopback address only"
        case .allowInternalJwks:
            """
            Lets an app's jwksUrl point to loopback, private and link-local addresses, and be http; without it such URLs \
            are refused, because the service itself fetches them
            """
        case .keyRate:
            "Requests a second by one key or signed-in user on each instance, twice as many at once; 0 for any number"
        case .addressRate:
            "Requests a second from one address other than loopback, twice as many at once; 0 for any number"
        case .trustedProxies:
            """
            The proxies in front of the service, such as 10.0.0.0/8,fd00::1: the address that counts is then the \
            rightmost of X-Forwarded-For that is none of them
            """
        case .maxConnections: "The most connections to Postgres"
        case .requestTimeout: "How long a request may wait for Postgres, as an ISO 8601 duration"
        case .sweepInterval:
            "The pause between two sweeps (expiry written down, old records deleted), as an ISO 8601 duration"
        case .logLevel:
            "The least severe events that are logged: trace, debug, info, notice, warning, error or critical"
        case .publicUrl: "The origin at which browsers reach the console, such as https://push.example.com"
        case .oidcIssuer: "Lets people sign in to the console with this issuer's identity provider (OpenID Connect)"
        case .oidcClientId: "The client id that the identity provider gave the console"
        case .oidcClientSecret: "The client's secret. Give it by the variable: others on the machine can read flags"
        case .oidcClaim: "The claim of the ID token that decides about roles: a text, or an array of texts"
        case .oidcRoles: "Roles by the claim's value: admin:com.example.food=Admins; auditor:com.example.food=Staff"
        case .config: "A JSON file of settings, an object with keys such as \"port\" and \"databaseUrl\""
        case .url: "The service to play with, such as http://127.0.0.1:8080"
        }
    }

    fileprivate var helpWithDefault: String {
        let rule = fallback.map { $0 == .bool(false) ? "" : "; \($0.string ?? $0.description) unless given" } ?? ""
        return "\(help)\(rule) (\(variable))."
    }
}

extension ArgumentHelp {
    static func of(_ setting: Setting, _ valueName: String? = nil) -> ArgumentHelp {
        ArgumentHelp(setting.helpWithDefault, valueName: valueName)
    }
}
