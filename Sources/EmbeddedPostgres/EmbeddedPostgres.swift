import Foundation
import Logging
import Synchronization

/// A private Postgres server in a directory.
///
/// Each user of the directory, in any process, holds a shared lock. The first user starts the server; the last user to
/// close stops it. The next user adopts a server that outlived a crashed program.
package final class EmbeddedPostgres: Sendable {
    /// A libpq keyword/value string for the database's superuser.
    package let connectionString: String
    package let serverPID: pid_t

    private let server: Server
    private let membership: Mutex<FileLock?>

    /// Initialises a new directory, starts Postgres if it isn't running, and waits until it is ready.
    ///
    /// Runs on its own thread. Cancelling the task does not interrupt it, but each wait has a deadline.
    ///
    /// - Parameters:
    ///   - directory: created if missing. An existing one must be empty or made by an earlier call.
    ///   - settings: override the Postgres settings, for example `["fsync": "off"]` in tests. Ignored if the server
    ///     already runs.
    /// - Throws: an error with a description that contains the remedy.
    package static func open(
        _ directory: String,
        settings: [String: String] = [:],
        search: InstallationSearch = .standard,
        logger: Logger
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgres {
        try await onThread {
            Result { () throws(EmbeddedPostgresError) in
                let place = try DatabaseDirectory(preparing: directory)
                let server = Server(place: place, settings: settings, search: search, logger: logger)
                return try EmbeddedPostgres(joining: server)
            }
        }.get()
    }

    package static func holdsDatabase(_ directory: String) -> Bool {
        FileManager.default.fileExists(atPath: DatabaseDirectory.data(in: directory))
    }

    private init(joining server: Server) throws(EmbeddedPostgresError) {
        let transition = try FileLock.transition(of: server.place)
        defer { transition.release() }
        let membership = try FileLock.membership(of: server.place)
        let postmaster = try server.joinOrStart()
        self.server = server
        self.membership = Mutex(membership)
        serverPID = postmaster.pid
        connectionString = postmaster.connectionString
    }

    /// Leaves the directory. The last user to leave stops Postgres and waits for it to exit.
    ///
    /// Without this call the server runs until a later user closes. Repeated calls have no effect.
    package func close() async { await onThread { self.leave() } }

    private func leave() {
        // Held throughout, so that a second `close()` returns only after the first.
        membership.withLock { membership in
            guard let lock = membership.take() else { return }
            defer { lock.release() }
            do {
                let transition = try FileLock.transition(of: server.place)
                defer { transition.release() }
                if lock.upgrade() { server.stop() }
            } catch { server.logger.warning("left Postgres running", metadata: ["reason": "\(error)"]) }
        }
    }
}

package struct EmbeddedPostgresError: Error, Sendable, CustomStringConvertible {
    /// The failure and its remedy, without secrets.
    package let description: String

    init(_ description: String) { self.description = description }

    static func system(_ action: String, _ path: String, _ number: CInt = errno) -> EmbeddedPostgresError {
        let reason = String(cString: strerror(number))
        let advice =
            number == EACCES || number == EPERM
            ? "Run as the directory's owner or as root, or choose another directory."
            : "Fix the cause, or choose another directory."
        return EmbeddedPostgresError("Cannot \(action) \(path): \(reason). \(advice)")
    }
}

/// Runs blocking work on its own thread, because Swift's task threads must never block.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}

/// Repeats `question` until it returns a value or the time is over. Blocks the thread.
func poll<Value, Failure: Error>(
    for time: Duration,
    _ question: () throws(Failure) -> Value?
) throws(Failure) -> Value? {
    let deadline = ContinuousClock.now + time
    while true {
        if let answer = try question() { return answer }
        if ContinuousClock.now >= deadline { return nil }
        usleep(5_000)
    }
}
