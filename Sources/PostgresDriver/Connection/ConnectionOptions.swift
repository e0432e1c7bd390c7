import CLibpq
import Foundation

struct ConnectionOptions {
    /// Empty parts are libpq's defaults.
    struct Host: Equatable, Sendable {
        let host: String
        let address: String
        let port: String
    }

    private static let defaults = [
        "keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3", "tcp_user_timeout": "15000",
    ]

    private let values: [String: String]

    init(connectionString: String, applicationName: String) throws(PostgresError) {
        values = Self.defaults.merging(["fallback_application_name": applicationName]) { $1 }
            .merging(try Self.parse(connectionString)) { $1 }
    }

    /// The options of a connection, including those from a service file and the environment; nil if out of memory.
    init?(of connection: OpaquePointer) {
        guard let options = PQconninfo(connection) else { return nil }
        defer { PQconninfoFree(options) }
        values = Self.values(of: options)
    }

    /// - Parameter host: the only host to try; nil for all hosts of the options.
    func keywords(for host: Host?) -> [String: String] {
        var all = values
        all["client_encoding"] = "UTF8"
        if let host {
            // libpq ignores empty values.
            all.merge(["host": host.host, "hostaddr": host.address, "port": host.port]) { $1 }
        }
        return all
    }

    /// In the order to try them; empty if no host is named, or if the lists differ in length, which libpq reports.
    var hosts: [Host] {
        guard values["host"] != nil || values["hostaddr"] != nil else { return [] }
        let lists = ["host", "hostaddr", "port"].map {
            (values[$0] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let count = max(lists[0].count, lists[1].count)
        guard lists[...1].allSatisfy({ $0.count == count || $0 == [""] }), [1, count].contains(lists[2].count) else {
            return []
        }
        return (0..<count).map { index in
            let parts = lists.map { $0.count == 1 ? $0[0] : $0[index] }
            return Host(host: parts[0], address: parts[1], port: parts[2])
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
        } catch { return fault(libpq: error.message ?? "", in: text) }
        // libpq reads host=h;port=5432 as one value.
        if !isURI(text), let host = options["host"], host.contains(#/;|^[^:/]+:[0-9]+$/#) {
            return host.contains(";") ? fault(libpq: "", in: text) : "has a port in its host. Write it as port=PORT."
        }
        if let mode = options["sslmode"], !sslModes.contains(mode) {
            let shown = mode.wholeMatch(of: /[A-Za-z_-]+/).map { " \($0.0)" } ?? ""
            let known = sslModes.joined(separator: ", ")
            return "has the unknown sslmode\(shown). Use one of \(known); require does not check certificates."
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
            return "is a URI that contains white space, such as a line break. Remove it, or write %20 for a space."
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
