import CLibpq
import Foundation

/// The keywords and values for one attempt to connect, in libpq's order of application.
struct ConnectionOptions {
    /// By keyword.
    typealias Values = [String: String]

    struct Host: Equatable, Sendable {
        var host: String?
        var address: String?
        var port: String?
    }

    /// libpq lets later keywords win: these come before the caller's string, so they are defaults only.
    private static let defaults = [
        ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "15000"),
    ]

    let connectionString: String
    let applicationName: String
    /// In order; empty if the string names none, until libpq names them.
    private(set) var hosts: [Host]
    /// The time of the last host; nil is all the remaining time.
    private(set) var timeOfLast: Duration?
    private var isChanged = false

    /// - Throws: ``PostgresError/Code/misuse`` if libpq cannot parse the connection string.
    init(connectionString: String, applicationName: String) throws(PostgresError) {
        self.connectionString = connectionString
        self.applicationName = applicationName
        hosts = Self.hosts(in: try Self.parse(connectionString))
    }

    /// Reads the hosts of the service file or the environment from a connection that has just begun.
    mutating func learnHosts(of connection: OpaquePointer) {
        guard hosts.isEmpty, let options = PQconninfo(connection) else { return }
        defer { PQconninfoFree(options) }
        hosts = Self.hosts(in: Self.values(of: options))
    }

    /// The options without an unresponsive host, continuing with the next one; nil if none is left.
    func skipping(_ index: Int) -> ConnectionOptions? {
        guard hosts.count > 1, hosts.indices.contains(index) else { return nil }
        var copy = self
        copy.hosts = Array(hosts[(index + 1)...] + hosts[..<index])
        copy.timeOfLast = nil
        copy.isChanged = true
        return copy
    }

    /// The options with one host after all others, and a time for it; they are tried in order.
    func trying(last host: Host?, for time: Duration) -> ConnectionOptions {
        guard let host, hosts.count > 1, hosts.contains(host) else { return self }
        var copy = self
        copy.hosts = hosts.filter { $0 != host } + hosts.filter { $0 == host }
        copy.timeOfLast = time
        copy.isChanged = true
        return copy
    }

    /// Keywords and values; libpq takes the connection string as the value of `dbname`.
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
