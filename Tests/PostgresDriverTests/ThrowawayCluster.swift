import Foundation
import TestSupport

@testable import EmbeddedPostgres

/// A Postgres with a port and with settings that `EmbeddedPostgres` fixes, in a directory below /tmp. It ends with its
/// last user, or with the test run.
final class ThrowawayCluster: Sendable {
    private static let first = Task { try await start() }
    static var shared: ThrowawayCluster { get async throws { try await first.value } }

    let directory: String
    let port: Int
    private let installation: Installation

    /// Creates and starts a cluster on its own thread, because this takes seconds and tasks share few threads.
    ///
    /// - Parameters:
    ///   - settings: lines of postgresql.conf, after fast defaults that do not survive a crash.
    ///   - prepare: adds files to the cluster's directory before the start.
    static func start(
        settings: [String: String] = [:],
        prepare: @escaping @Sendable (String) throws -> Void = { _ in }
    ) async throws -> ThrowawayCluster {
        try await onOwnThread { try ThrowawayCluster(settings: settings, prepare: prepare) }
    }

    private init(settings: [String: String], prepare: (String) throws -> Void) throws {
        port = try FreePort.take()
        directory = "/tmp/pgt-\(UUID().uuidString.prefix(8))"
        installation = try InstallationSearch.standard.find(version: nil)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        TestServer.endAtExit(directory)
        try Self.giveToServer(directory)
        try run("initdb", "-D", files, "-U", "postgres", "--auth=trust", "--no-sync", "--locale=C", "-E", "UTF8")
        try prepare(files)
        try configure(settings)
        try launch()
    }

    deinit { TestServer.end(directory) }

    var files: String { directory + "/data" }

    func postmaster() throws -> pid_t {
        guard let process = TestServer.postmaster(in: directory) else { throw Failure("no postmaster.pid") }
        return process
    }

    var socketString: String { "host=\(directory) port=\(port) user=postgres dbname=postgres" }
    var tcpString: String { "host=127.0.0.1 port=\(port) user=postgres dbname=postgres sslmode=disable" }
    func resume() async throws { try await onOwnThread { try self.launch() } }
    private func launch() throws { try run("pg_ctl", "start", "-w", "-s", "-D", files, "-l", directory + "/log") }
    func stop() async throws { try await onOwnThread { try self.run("pg_ctl", "stop", "-w", "-s", "-D", self.files) } }

    private func configure(_ settings: [String: String]) throws {
        var all = [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": directory,
            "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "max_connections": "200",
            "shared_buffers": "32MB", "deadlock_timeout": "50ms", "max_wal_size": "256MB",
        ]
        all.merge(settings) { $1 }
        let lines = all.map { "\($0.key) = '\($0.value)'\n" }.joined()
        guard let file = fopen(files + "/postgresql.conf", "a") else { throw Failure("no postgresql.conf") }
        defer { fclose(file) }
        fputs(lines, file)
    }

    private func run(_ program: String, _ arguments: String...) throws {
        let command = [installation.program(program)] + arguments
        let outcome = try Command(ServerUser.preferred().command(command)).run()
        guard outcome.succeeded else { throw Failure("\(command): \(outcome.output)") }
    }

    /// Changes the owner to the server's user. The server requires this for its directory and its TLS key.
    static func giveToServer(_ path: String) throws {
        try ServerUser.preferred().receive(Descriptor.open(path, O_RDONLY), path)
    }
}

/// A loopback port that accepts connections and never responds, like a frozen host.
final class SilentListener: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        port = try FreePort.take()
        // A program started by another test must not inherit the port.
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try RawConnection.use(INADDR_LOOPBACK, port: port) { bind(descriptor, $0, $1) }
        guard listen(descriptor, 16) == 0 else { throw Failure("the port does not listen") }
    }

    deinit { close(descriptor) }
}
