import CLibpq
import Foundation

struct ConnectionOptions {

    struct Host: Equatable, Sendable {
        var host: String?
        var address: String?
        var port: String?
    }

    /// Defaults: they precede the caller's string, and libpq applies the last value of a keyword.
    private static let defaults = [
        ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "15000"),
    ]

    let connectionString: String
    let applicationName: String
    /// In order; empty if the connection string names none and libpq has not yet resolved them.
    private(set) var hosts: [Host]
    /// The last host's time limit; nil for all the remaining time.
    private(set) var timeOfLast: Duration?
    private var isChanged = false

    init(connectionString: String, applicationName: String) throws(PostgresError) {
        self.connectionString = connectionString
        self.applicationName = applicationName
        hosts = Self.hosts(in: try Self.parse(connectionString))
    }

    /// Reads the hosts that libpq found in a service file or the environment.
    mutating func learnHosts(of connection: OpaquePointer) {
        guard hosts.isEmpty, let options = PQconninfo(connection) else { return }
        defer { PQconninfoFree(options) }
        hosts = Self.hosts(in: Self.values(of: options))
    }

    /// A copy without an unresponsive host that begins with the next host; nil if no other host exists.
    func skipping(_ index: Int) -> ConnectionOptions? {
        guard hosts.count > 1, hosts.indices.contains(index) else { return nil }
        return trying(Array(hosts[(index + 1)...] + hosts[..<index]), timeOfLast: nil)
    }

    /// A copy that tries `host` last, for at most `time`.
    func trying(last host: Host?, for time: Duration) -> ConnectionOptions {
        guard let host, hosts.count > 1, hosts.contains(host) else { return self }
        return trying(hosts.filter { $0 != host } + hosts.filter { $0 == host }, timeOfLast: time)
    }

    private func trying(_ hosts: [Host], timeOfLast: Duration?) -> ConnectionOptions {
        var copy = self
        (copy.hosts, copy.timeOfLast, copy.isChanged) = (hosts, timeOfLast, true)
        return copy
    }

    /// libpq accepts a connection string as the value of `dbname`.
    var keywords: [(String, String)] {
        var list = Self.defaults
        list += [
            ("fallback_application_name", applicationName), ("dbname", connectionString), ("client_encoding", "UTF8"),
        ]
        guard isChanged else { return list }
        if hosts.contains(where: { $0.host != nil }) { list.append(("host", joined(\.host))) }
        if hosts.contains(where: { $0.address != nil }) { list.append(("hostaddr", joined(\.address))) }
        if hosts.contains(where: { $0.port != nil }) { list.append(("port", joined(\.port))) }
        return list
    }

    private func joined(_ part: (Host) -> String?) -> String { hosts.map { part($0) ?? "" }.joined(separator: ",") }

    private static func hosts(in options: [String: String]) -> [Host] {
        func list(_ key: String) -> [String?] {
            options[key]?.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
                ?? []
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        return (0..<max(names.count, addresses.count)).map { index in
            Host(
                host: index < names.count ? names[index] : nil,
                address: index < addresses.count ? addresses[index] : nil,
                port: ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : nil
            )
        }
    }

    static func parse(_ connectionString: String) throws(PostgresError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(connectionString, &message) else {
            defer { PQfreemem(message) }
            throw PostgresError(.misuse, "connection string: \(ServerMessage.ofConnectionString(message))")
        }
        defer { PQconninfoFree(options) }
        return values(of: options)
    }

    private static func values(of options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            values[String(cString: keyword)] = option.pointee.val.map { String(cString: $0) }
            option += 1
        }
        return values
    }
}

package enum ConnectionString {
    private static let secrets: Set = ["password", "sslpassword", "oauth_client_secret", "scram_client_key"]

    /// `keyword=value` pairs with `***` in place of secrets, or only `***` if libpq cannot parse the string.
    package static func masked(_ connectionString: String) -> String {
        let hidden = "***"
        guard let options = try? ConnectionOptions.parse(connectionString) else { return hidden }
        // libpq reads a URI's password with an unescaped `@` or `/` as part of these.
        let places = ["host", "port", "dbname"].compactMap { options[$0] }
        guard !places.contains(where: { $0.contains("@") }) else { return hidden }
        return options.sorted { $0.key < $1.key }
            .map { "\($0)=\(secrets.contains($0) ? hidden : $1)" }.joined(separator: " ")
    }

    private static let sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
    private static let encoding =
        "In a URI, percent-encode special characters of the user and password: % is %25, / is %2F, : is %3A, @ is %40."

    /// Why libpq cannot use a connection string, and the remedy, phrased to follow "the connection string". Contains no
    /// part of a password.
    package static func fault(in text: String) -> String? {
        if let fault = faultOfBeginning(text) { return fault }
        let options: [String: String]
        do {
            options = try ConnectionOptions.parse(text)
        } catch {
            return fault(libpq: error.message ?? "", in: text)
        }
        if let mode = options["sslmode"], !sslModes.contains(mode) {
            let shown = mode.allSatisfy { $0.isLetter || $0 == "-" } ? " \(mode)" : ""
            let known = sslModes.joined(separator: ", ")
            return
                "has the unknown sslmode\(shown). Use one of \(known); require does not check certificates."
        }
        let ports = (options["port"] ?? "").split(separator: ",")
        guard ports.allSatisfy({ Int($0).map { (1...65_535).contains($0) } ?? false }) else {
            return "has a port that is not a number from 1 to 65535. \(encoding)"
        }
        if isURI(text), options["dbname"]?.contains(#/[&;][a-z_]+=/#) == true {
            return "has parameters in the database's name. Put ? before the first parameter, and & between parameters."
        }
        // A leading @ denotes an abstract Unix socket.
        let host = options["host"]?.dropFirst() ?? ""
        return isURI(text) && host.contains("@") ? "has an @ in its host. \(encoding)" : nil
    }

    private static func isURI(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    private static func faultOfBeginning(_ text: String) -> String? {
        if text.hasPrefix("psql ") { return "begins with psql. Give only the URI after it, without quotation marks." }
        if text.lowercased().hasPrefix("jdbc:") { return "begins with jdbc:, which libpq does not know. Remove it." }
        if isURI(text), text.contains(where: \.isWhitespace) {
            return
                "is a URI that contains white space, such as a line break. Remove it, or write %20 for a space."
        }
        guard let scheme = text.prefixMatch(of: #/([A-Za-z][A-Za-z0-9+.\-]*):///#)?.1, !isURI(text) else { return nil }
        return "begins with \(scheme)://, which libpq does not know. Begin it with postgresql://."
    }

    /// - Parameter message: libpq's message with `"…"` in place of quotations.
    private static func fault(libpq message: String, in text: String) -> String {
        let message = message.replacing("connection string: ", with: "")
        let forms =
            "a URI, postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or keyword=value pairs with spaces between them"
        if !isURI(text), text.contains(";") { return "has semicolons, as in .NET and ODBC. Use \(forms)." }
        if message.hasPrefix("missing \"") { return "does not have a form that libpq knows. Use \(forms)." }
        if message.hasPrefix("invalid URI query parameter") || message.hasPrefix("invalid connection option") {
            guard let name = unknownParameter(in: text) else {
                return "has a parameter that libpq does not know. \(encoding)"
            }
            let isSchema = ["schema", "currentSchema", "search_path"].contains(name)
            let remedy = isSchema ? "Write options=-csearch_path%3DNAME instead." : "Remove it."
            return "has the parameter \"\(name)\", which libpq does not know. \(remedy)"
        }
        return "cannot be read by libpq: \(message). \(encoding)"
    }

    /// The first unknown parameter; nil if it may be part of a password. It is safe to show if no password precedes it
    /// and, in a URI, no host follows.
    private static func unknownParameter(in text: String) -> String? {
        var parameters = text[...]
        if isURI(text) {
            guard let question = text.firstIndex(of: "?"), !text[question...].contains("@") else { return nil }
            parameters = text[question...].dropFirst()
        }
        for pair in parameters.split(separator: isURI(text) ? "&" : " ") where pair != "ssl=true" {
            guard let name = pair.wholeMatch(of: #/([A-Za-z_][A-Za-z0-9_.\-]*)=.*/#)?.1, !name.contains("password")
            else { return nil }
            if (try? ConnectionOptions.parse("\(name)=''")) == nil { return String(name.prefix(40)) }
        }
        return nil
    }
}
