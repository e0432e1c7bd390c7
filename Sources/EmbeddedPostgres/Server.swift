import Foundation
import Logging

/// Initialises, starts and stops the Postgres of a directory; all methods block, and run under the transition lock.
struct Server: Sendable {
    let place: DatabaseDirectory
    let settings: [String: String]
    let search: InstallationSearch
    let logger: Logger

    /// Longer than recovery after a crash. An interrupted recovery would start from its beginning the next time.
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

    /// The running server, once it accepts connections: a killed program may have left one that starts or stops.
    private func settled() -> Postmaster? {
        let settled = Deadline.after(Self.patience).poll { () -> Postmaster?? in
            guard let running = Postmaster(of: place) else { return .some(nil) }
            return running.isReady ? running : nil
        }
        return settled ?? nil
    }

    /// A regular stop; it disconnects all sessions.
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
        // pg_ctl returns when the server's file is gone; its process ends a moment later.
        _ = Deadline.after(.seconds(10)).poll { Postmaster.runs(postmaster.pid, in: place) ? nil : true }
    }

    /// Uses another name first: an unfinished directory is initialised again.
    private func initialise(_ installation: Installation) throws(EmbeddedPostgresError) {
        logger.info("initialising a private Postgres in \(place.root)")
        try? FileManager.default.removeItem(atPath: place.unfinishedData)
        let arguments = [
            installation.program("initdb"), "-D", place.unfinishedData, "-U", ConnectionString.role, "-A", "trust",
            "-E", "UTF8", "--locale=C", "--data-checksums",
        ]
        // Tests without fsync need no sync here either.
        try demand(arguments + (settings["fsync"] == "off" ? ["--no-sync"] : []), .initialisationFailed)
        try demand(
            // Otherwise an error is only printed.
            [
                installation.program("postgres"), "--single", "-D", place.unfinishedData, "-c", "exit_on_error=on",
                "postgres",
            ],
            .initialisationFailed,
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
        let started = try Deadline.after(.seconds(10)).poll { () throws(EmbeddedPostgresError) -> Postmaster? in
            if try command.run().succeeded { return Postmaster(of: place) }
            // For a moment longer the children of a killed server hold its shared memory and its file.
            guard ["shared memory", "lock file"].contains(where: lastLinesOfLog.contains) else { throw notStarted }
            return nil
        }
        guard let postmaster = started else { throw notStarted }
        logger.debug("started the Postgres of \(place.root)")
        return postmaster
    }

    private func demand(
        _ arguments: [String],
        _ code: EmbeddedPostgresError.Code,
        input: String = ""
    ) throws(EmbeddedPostgresError) {
        let outcome = try Command(place.user.command(arguments)).run(input: input)
        guard outcome.succeeded else {
            throw EmbeddedPostgresError(code, "Cannot make a database in \(place.root).\n\(outcome.output)")
        }
    }

    private var notStarted: EmbeddedPostgresError {
        EmbeddedPostgresError(.startFailed, "Postgres did not start in \(place.root).\n\(lastLinesOfLog)")
    }

    private var lastLinesOfLog: String {
        let text = (try? String(contentsOfFile: place.log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(8).joined(separator: "\n")
    }

    /// `pg_ctl` passes its options to a shell.
    private static func quoted(_ word: String) -> String {
        "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
