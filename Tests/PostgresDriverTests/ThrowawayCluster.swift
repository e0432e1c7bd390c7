import Foundation
import PostgresDriver
import Synchronization

/// A Postgres of our own in a directory below /tmp, which dies with the test run, however that ends.
final class ThrowawayCluster: Sendable {
    /// The cluster that most tests use, each in a schema of its own.
    static var shared: ThrowawayCluster {
        get async throws { try await first.value }
    }

    private static let first = Task { try await start() }

    let directory: String
    let port: Int
    private let watchdog: Watchdog

    /// Makes and starts a cluster, on a thread of its own: it takes seconds, and tasks have few threads.
    ///
    /// - Parameters:
    ///   - settings: lines of postgresql.conf, over fast defaults that survive no crash.
    ///   - prepare: puts more files into the directory of the cluster before the start.
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

    /// The directory that initdb has made.
    var files: String { directory + "/files" }

    /// The process of the server itself.
    func postmaster() throws -> pid_t {
        let lines = try String(contentsOfFile: files + "/postmaster.pid", encoding: .utf8).split(separator: "\n")
        guard let process = lines.first.flatMap({ pid_t($0) }) else { throw Failure("no postmaster.pid") }
        return process
    }

    /// Connects over the Unix socket.
    var socketString: String { "host=\(directory) port=\(port) user=postgres dbname=postgres" }

    /// Connects over TCP.
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

    /// Runs one of Postgres's programs, as the user postgres when we are root: initdb and postgres refuse root.
    private static func run(_ program: String, _ arguments: String...) throws {
        let path = "\(binaries)/\(program)"
        let asPostgres = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        try Child((getuid() == 0 ? asPostgres : []) + [path] + arguments).expectSuccess()
    }

    /// Makes a file or directory the server's own, which it demands of its directory and its TLS key.
    static func giveToServer(_ path: String) throws {
        guard getuid() == 0 else { return }
        guard let user = getpwnam("postgres") else { throw Failure("no user postgres") }
        guard chown(path, user.pointee.pw_uid, user.pointee.pw_gid) == 0 else { throw Failure("chown \(path)") }
    }

    /// A port on which nobody listens, which the kernel does not give to outgoing connections, and which no other
    /// test of this process gets: initdb takes seconds before the server listens there.
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

/// A shell that waits for the end of its input, that is of this program, then stops the server and removes its directory.
private final class Watchdog: Sendable {
    private let writeEnd: Int32

    init(directory: String) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure("no pipe") }
        // A child that inherited the write end would keep the pipe open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        writeEnd = ends[1]
        let stop = "kill -QUIT $(head -1 \(directory)/files/postmaster.pid)"
        // Until it stays away: if the test run was killed, initdb or pg_ctl may still be at work.
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

/// Runs blocking work outside of the few threads that tasks share.
private func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result(catching: work)) }.start()
    }
}
