import CLibpq
import Foundation

struct ConnectionOptions {
    typealias Values = [String: String]

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

    /// - Throws: ``PostgresError/Code/misuse`` if libpq cannot parse the connection string.
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
        var copy = self
        copy.hosts = Array(hosts[(index + 1)...] + hosts[..<index])
        copy.timeOfLast = nil
        copy.isChanged = true
        return copy
    }

    /// A copy that tries `host` last, for at most `time`.
    func trying(last host: Host?, for time: Duration) -> ConnectionOptions {
        guard let host, hosts.count > 1, hosts.contains(host) else { return self }
        var copy = self
        copy.hosts = hosts.filter { $0 != host } + hosts.filter { $0 == host }
        copy.timeOfLast = time
        copy.isChanged = true
        return copy
    }

    /// libpq accepts a connection string as the value of `dbname`.
    var keywords: [(String, String)] {
        var list = Self.defaults
        list.append(("fallback_application_name", applicationName))
        list.append(("dbname", connectionString))
        list.append(("client_encoding", "UTF8"))
        guard isChanged else { return list }
        if hosts.contains(where: { $0.host != nil }) { list.append(("host", joined(\.host))) }
        if hosts.contains(where: { $0.address != nil }) { list.append(("hostaddr", joined(\.address))) }
        if hosts.contains(where: { $0.port != nil }) { list.append(("port", joined(\.port))) }
        return list
    }

    private func joined(_ part: (Host) -> String?) -> String {
        hosts.map { part($0) ?? "" }.joined(separator: ",")
    }

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
