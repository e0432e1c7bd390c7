import Foundation
import PostgresDriver
import Synchronization

/// A Postgres in a directory below /tmp. It ends with the test run, even if the run is killed.
final class ThrowawayCluster: Sendable {
    static var shared: ThrowawayCluster {
        get async throws { try await first.value }
    }

    private static let first = Task { try await start() }

    let directory: String
    let port: Int
    private let watchdog: Watchdog

    /// Creates and starts a cluster on its own thread, because this takes seconds and tasks share few threads.
    ///
    /// - Parameters:
    ///   - settings: lines of postgresql.conf, after fast defaults that do not survive a crash.
    ///   - prepare: adds files to the cluster's directory before the start.
    static func start(
        settings: [String: String] = [:],
        prepare: @escaping @Sendable (String) throws -> Void = { _ in }
    ) async throws -> ThrowawayCluster {
        try await onThread { try ThrowawayCluster(settings: settings, prepare: prepare) }
    }

    private init(settings: [String: String], prepare: (String) throws -> Void) throws {
        port = try Self.freePort()
        directory = "/tmp/pgt-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        watchdog = try Watchdog(directory: directory)
        try Self.giveToServer(directory)
        try Self.run("initdb", "-D", files, "-U", "postgres", "--auth=trust", "--no-sync", "--locale=C", "-E", "UTF8")
        try prepare(files)
        try configure(settings)
        try launch()
    }

    var files: String { directory + "/files" }

    func postmaster() throws -> pid_t {
        let lines = try String(contentsOfFile: files + "/postmaster.pid", encoding: .utf8).split(separator: "\n")
        guard let process = lines.first.flatMap({ pid_t($0) }) else { throw Failure("no postmaster.pid") }
        return process
    }

    var socketString: String { "host=\(directory) port=\(port) user=postgres dbname=postgres" }

    var tcpString: String { "host=127.0.0.1 port=\(port) user=postgres dbname=postgres sslmode=disable" }

    func resume() async throws {
        try await onThread { try self.launch() }
    }

    private func launch() throws {
        do {
            try Self.run("pg_ctl", "start", "-w", "-s", "-D", files, "-l", directory + "/log")
        } catch {
            let log = (try? String(contentsOfFile: directory + "/log", encoding: .utf8)) ?? "no log"
            throw Failure("\(error)\n\(log.split(separator: "\n").suffix(8).joined(separator: "\n"))")
        }
    }

    func stop(mode: String = "fast") async throws {
        try await onThread { try Self.run("pg_ctl", "stop", "-w", "-s", "-D", self.files, "-m", mode) }
    }

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
}

// MARK: - Programs

extension ThrowawayCluster {
    private static let binaries = "/usr/lib/postgresql/15/bin"

    /// Runs a program of Postgres, as the user postgres if this process is root, because initdb and postgres refuse
    /// root.
    private static func run(_ program: String, _ arguments: String...) throws {
        let path = "\(binaries)/\(program)"
        let asPostgres = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        try Child((getuid() == 0 ? asPostgres : []) + [path] + arguments).expectSuccess()
    }

    /// Changes the owner to the server's user. The server requires this for its directory and its TLS key.
    static func giveToServer(_ path: String) throws {
        guard getuid() == 0 else { return }
        guard let user = getpwnam("postgres") else { throw Failure("no user postgres") }
        guard chown(path, user.pointee.pw_uid, user.pointee.pw_gid) == 0 else { throw Failure("chown \(path)") }
    }

    /// An unused port outside the kernel's range for outgoing connections. No other test of this process gets it,
    /// because initdb takes seconds before the server listens.
    static func freePort() throws -> Int {
        for _ in 0..<100 {
            if let listener = try? SilentListener(port: nextPort.add(1, ordering: .relaxed).oldValue) {
                return listener.port
            }
        }
        throw Failure("no free port")
    }

    private static let nextPort = Atomic(Int.random(in: 10_000..<25_000))
}

/// A shell that waits for the end of this process (the end of its input), then stops the server and removes its
/// directory.
private final class Watchdog: Sendable {
    private let writeEnd: Int32

    init(directory: String) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure("no pipe") }
        // A child that inherited the write end would keep the pipe open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        writeEnd = ends[1]
        let stop = "kill -QUIT $(head -1 \(directory)/files/postmaster.pid)"
        // Repeats the removal, because initdb or pg_ctl may still be running after a killed test run.
        let gone = "[ ! -e \(directory) ]"
        let clear = "for i in $(seq 30); do \(stop); sleep 1; rm -rf \(directory); sleep 1; \(gone) && break; done"
        let script = "trap '' INT TERM HUP; cat; \(clear)"
        _ = try Child(["/bin/sh", "-c", script], input: ends[0])
        close(ends[0])
    }

    deinit { close(writeEnd) }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

private func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result(catching: work)) }.start()
    }
}
