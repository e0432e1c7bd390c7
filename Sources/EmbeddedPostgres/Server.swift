import Foundation
import Logging

/// Initialises, starts and stops a directory's Postgres. All methods block and require the transition lock.
struct Server: Sendable {
    let place: DatabaseDirectory
    let settings: [String: String]
    let search: InstallationSearch
    let logger: Logger

    /// Longer than crash recovery, because an interrupted recovery starts again from its beginning.
    static let patience = Duration.seconds(1800)

    func joinOrStart() throws(EmbeddedPostgresError) -> Postmaster {
        if let running = settled() {
            logger.debug("joined the Postgres of \(place.root)")
            return running
        }
        let installation = try search.find(version: place.version)
        if place.version == nil { try initialise(installation) }
        return try start(installation)
    }

    /// The running server, once it accepts connections. A killed program may have left it starting or stopping.
    private func settled() -> Postmaster? {
        let settled = poll(for: Self.patience) { () -> Postmaster?? in
            guard let running = Postmaster(of: place) else { return .some(nil) }
            return running.isReady ? running : nil
        }
        return settled ?? nil
    }

    func stop() {
        guard let postmaster = Postmaster(of: place), let installation = try? search.find(version: place.version)
        else { return }
        let arguments = [installation.program("pg_ctl"), "stop", "-D", place.data, "-m", "fast", "-w", "-t", "60"]
        let outcome = try? Command(place.user.command(arguments)).run()
        guard outcome?.succeeded == true else {
            return logger.warning("Postgres did not stop: \(outcome?.output ?? "")")
        }
        // pg_ctl returns when the pid file is gone; the process exits slightly later.
        _ = poll(for: .seconds(10)) { Postmaster.runs(postmaster.pid, in: place) ? nil : true }
    }

    /// Creates the directory under another name first, so that an unfinished directory is initialised again.
    private func initialise(_ installation: Installation) throws(EmbeddedPostgresError) {
        logger.info("initialising a private Postgres in \(place.root)")
        try? FileManager.default.removeItem(atPath: place.unfinishedData)
        let arguments = [
            installation.program("initdb"), "-D", place.unfinishedData, "-U", ServerSettings.role, "-A", "trust",
            "-E", "UTF8", "--locale=C", "--data-checksums",
        ]
        // Tests without fsync do not need a sync here.
        try demand(arguments + (settings["fsync"] == "off" ? ["--no-sync"] : []))
        // Without exit_on_error the exit status is 0 after an error.
        let single = ["--single", "-D", place.unfinishedData, "-c", "exit_on_error=on", "postgres"]
        let input = "CREATE DATABASE \(ServerSettings.role)\n"
        try demand([installation.program("postgres")] + single, input: input)
        guard rename(place.unfinishedData, place.data) == 0 else { throw .system("rename", place.unfinishedData) }
        fsync(try Descriptor.open(place.root, O_RDONLY).number)
    }

    private func start(_ installation: Installation) throws(EmbeddedPostgresError) -> Postmaster {
        let socketDirectory = try place.makeSocketDirectory()
        // A server in another container has another pid there, and Postgres would not find it.
        let probe = [installation.program("pg_isready"), "-h", socketDirectory, "-p", ServerSettings.port]
        guard try !Command(place.user.command(probe)).run().output.contains("connections") else {
            // A server that is starting was still writing its pid.
            if Postmaster(of: place) != nil { return try joinOrStart() }
            throw EmbeddedPostgresError("Postgres already runs in \(place.root), in another container. Stop it first.")
        }
        Postmaster.removeStaleFiles(in: place, socketDirectory)
        let options = ServerSettings.arguments(socketDirectory: socketDirectory, overrides: settings)
        let patience = "\(Self.patience.components.seconds)"
        let arguments = [
            installation.program("pg_ctl"), "start", "-D", place.data, "-l", place.log, "-w", "-t", patience,
        ]
        let command = Command(place.user.command(arguments + ["-o", options.map(Self.quoted).joined(separator: " ")]))
        let started = try poll(for: .seconds(10)) { () throws(EmbeddedPostgresError) -> Postmaster? in
            if try command.run().succeeded { return Postmaster(of: place) }
            // The children of a killed server hold its shared memory and lock file a moment longer.
            guard ["shared memory", "lock file"].contains(where: lastLinesOfLog.contains) else { throw notStarted }
            return nil
        }
        guard let postmaster = started else { throw notStarted }
        logger.debug("started the Postgres of \(place.root)")
        return postmaster
    }

    private func demand(_ arguments: [String], input: String = "") throws(EmbeddedPostgresError) {
        let outcome = try Command(place.user.command(arguments)).run(input: input)
        guard outcome.succeeded else {
            throw EmbeddedPostgresError("Cannot make a database in \(place.root).\n\(outcome.output)")
        }
    }

    private var notStarted: EmbeddedPostgresError {
        EmbeddedPostgresError("Postgres did not start in \(place.root).\n\(lastLinesOfLog)")
    }

    private var lastLinesOfLog: String {
        let text = (try? String(contentsOfFile: place.log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(8).joined(separator: "\n")
    }

    /// Quotes for a shell, because `pg_ctl` passes options through one.
    private static func quoted(_ word: String) -> String {
        "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}

enum ServerSettings {
    static let role = "registry"
    /// Part of the socket's file name. Fixed, because PGPORT can change libpq's default.
    static let port = "5432"

    /// Durable, and without client data in the log.
    private static let defaults = [
        "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "wal_level": "replica",
        "max_wal_size": "1GB", "shared_buffers": "128MB", "max_connections": "100", "jit": "off",
        "timezone": "UTC", "log_timezone": "UTC", "log_line_prefix": "%m [%p] ",
        "log_checkpoints": "off", "log_statement": "none",
        "log_parameter_max_length": "0", "log_parameter_max_length_on_error": "0",
        // The detail of a constraint violation quotes the row, which may contain a token.
        "log_error_verbosity": "terse",
    ]

    /// `overrides` take precedence over the defaults; the settings that locate the server take precedence over both.
    static func arguments(socketDirectory: String, overrides: [String: String]) -> [String] {
        let fixed = [
            "listen_addresses": "", "port": port, "ssl": "off",
            "unix_socket_directories": socketDirectory, "unix_socket_permissions": "0700",
            "logging_collector": "off", "log_destination": "stderr",
        ]
        let all = defaults.merging(overrides) { $1 }.merging(fixed) { $1 }
        return all.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    }
}

/// A running server, as described by `postmaster.pid`.
struct Postmaster: Sendable {
    let pid: pid_t
    let socketDirectory: String
    /// False while the server starts, recovers or stops.
    let isReady: Bool

    /// Nil if no server runs on the data directory.
    ///
    /// The file outlives a crash, and another process may then have its pid. A server's working directory is its data
    /// directory, which identifies it.
    init?(of place: DatabaseDirectory) {
        guard let text = try? String(contentsOfFile: place.pidFile, encoding: .utf8) else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 1, let pid = pid_t(lines[0]), Self.runs(pid, in: place) else { return nil }
        self.pid = pid
        // The server adds each line when it knows the value (postmaster/miscadmin.h, LOCK_FILE_LINE_PM_STATUS).
        socketDirectory = lines.count > 4 ? String(lines[4]) : ""
        isReady = lines.count > 7 && lines[7].hasPrefix("ready")
    }

    /// In a value for libpq, a backslash escapes `'` and `\`.
    var connectionString: String {
        let host = String(socketDirectory.flatMap { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" })
        let role = ServerSettings.role
        return "host='\(host)' port=\(ServerSettings.port) user=\(role) dbname=\(role)"
    }

    static func runs(_ pid: pid_t, in place: DatabaseDirectory) -> Bool {
        if let directory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd") {
            return directory == URL(fileURLWithPath: place.data).resolvingSymlinksInPath().path
        }
        // Without CAP_SYS_PTRACE, for example in a container, root can read another user's command line but not its
        // working directory.
        let arguments = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
        return arguments?.contains("\0-D\0\(place.data)\0") == true
    }

    /// Removes the files of a killed server. Postgres would consider it alive if it was not reaped, or if another
    /// process has its pid now.
    static func removeStaleFiles(in place: DatabaseDirectory, _ socketDirectory: String) {
        guard let text = try? String(contentsOfFile: place.pidFile, encoding: .utf8),
            let pid = text.split(separator: "\n").first.flatMap({ pid_t($0) }), !runs(pid, in: place),
            let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = status.lastIndex(of: ")")
        else { return }
        let isAnother = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")) != nil
        guard isAnother || status[end...].hasPrefix(") Z") else { return }
        for file in [place.pidFile, "\(socketDirectory)/.s.PGSQL.\(ServerSettings.port).lock"] { unlink(file) }
    }
}
