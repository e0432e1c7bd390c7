import Foundation
import Logging
import Synchronization

/// A private Postgres in a directory, which runs while the directory has users.
///
/// Every user, in this program or in another one, holds a shared lock on the directory. The first one starts the
/// server, the last one to close stops it. A server that outlived a crashed program is adopted by the next user.
package final class EmbeddedPostgres: Sendable {
    /// For the database's superuser: a libpq string of keywords and values.
    package let connectionString: String
    /// The server's process id at the time of ``open(_:settings:logger:)``.
    package let serverPID: pid_t

    private let server: Server
    private let membership: Mutex<FileLock?>

    /// Initialises a new directory, starts Postgres if it isn't running, and waits until it is ready.
    ///
    /// It runs on its own thread. Cancellation of the task does not interrupt it, but each wait for a server has a
    /// deadline.
    ///
    /// - Parameters:
    ///   - directory: created if missing. An existing one must be empty, or come from an earlier call.
    ///   - settings: Postgres settings over this type's own, such as `["fsync": "off"]` in tests. They apply only if
    ///     this call starts the server.
    /// - Throws: an error whose description contains the remedy.
    package static func open(
        _ directory: String,
        settings: [String: String] = [:],
        logger: Logger
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgres {
        try await open(directory, settings: settings, search: .standard, logger: logger)
    }

    package static func holdsDatabase(_ directory: String) -> Bool {
        FileManager.default.fileExists(atPath: DatabaseDirectory.data(in: directory))
    }

    static func open(
        _ directory: String,
        settings: [String: String],
        search: InstallationSearch,
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

    private init(joining server: Server) throws(EmbeddedPostgresError) {
        let transition = try FileLock.transition(of: server.place)
        defer { transition.release() }
        let membership = try FileLock.membership(of: server.place)
        let postmaster = try server.joinOrStart()
        self.server = server
        self.membership = Mutex(membership)
        serverPID = postmaster.pid
        connectionString = ConnectionString.make(socketDirectory: postmaster.socketDirectory)
    }

    /// Leaves the directory; the last user to leave stops Postgres and waits for its end.
    ///
    /// Without this call the server runs until a later user of the directory closes. Further calls do nothing.
    package func close() async {
        await onThread { self.leave() }
    }

    private func leave() {
        // Held throughout, so that a second close returns only after the first one.
        membership.withLock { membership in
            guard let lock = membership.take() else { return }
            defer { lock.release() }
            do {
                let transition = try FileLock.transition(of: server.place)
                defer { transition.release() }
                if lock.upgrade() { server.stop() }
            } catch {
                server.logger.warning("left Postgres running", metadata: ["reason": "\(error)"])
            }
        }
    }
}
