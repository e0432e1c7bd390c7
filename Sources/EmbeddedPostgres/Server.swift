import Foundation
import Logging

/// Initialises, starts and stops a directory's Postgres. All methods block and require the transition lock.
struct Server: Sendable {
    let place: DatabaseDirectory
    let settings: [String: String]
    let search: InstallationSearch
    let logger: Logger

    /// Longer than crash recovery, because an interrupted recovery starts again from its beginning.
    private static let patience = Duration.seconds(1800)

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
        guard let postmaster = Postmaster(of: place), let installation = try? search.find(version: place.version) else {
            return
        }
        let arguments = [installation.program("pg_ctl"), "stop", "-D", place.data, "-m", "fast", "-w", "-t", "60"]
        let outcome = try? Command(place.user.command(arguments)).run()
        guard outcome?.succeeded == true else {
            logger.warning("Postgres did not stop: \(outcome?.output ?? "")")
            return
        }
        // pg_ctl returns when the pid file is gone; the process exits slightly later.
        _ = poll(for: .seconds(10)) { Postmaster.runs(postmaster.pid, in: place) ? nil : true }
    }

    /// Creates the directory under another name first, so that an unfinished directory is initialised again.
    private func initialise(_ installation: Installation) throws(EmbeddedPostgresError) {
        logger.info("initialising a private Postgres in \(place.root)")
        try? FileManager.default.removeItem(atPath: place.unfinishedData)
        let arguments = [
            installation.program("initdb"), "-D", place.unfinishedData, "-U", ConnectionString.role, "-A", "trust",
            "-E", "UTF8", "--locale=C", "--data-checksums",
        ]
        // Tests without fsync do not need a sync here.
        try demand(arguments + (settings["fsync"] == "off" ? ["--no-sync"] : []))
        try demand(
            // Without exit_on_error the exit status is 0 after an error.
            [
                installation.program("postgres"), "--single", "-D", place.unfinishedData, "-c", "exit_on_error=on",
                "postgres",
            ],
            input: "CREATE DATABASE \(ConnectionString.role)\n"
        )
        guard rename(place.unfinishedData, place.data) == 0 else { throw .system("rename", place.unfinishedData) }
        fsync(try Descriptor.open(place.root, O_RDONLY).number)
    }

    private func start(_ installation: Installation) throws(EmbeddedPostgresError) -> Postmaster {
        Postmaster.removeFileOfZombie(in: place)
        let socketDirectory = try place.makeSocketDirectory()
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
