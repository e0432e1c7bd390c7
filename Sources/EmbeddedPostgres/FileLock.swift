import Foundation

/// An advisory lock on a file. The kernel releases it when its holder dies.
///
/// Users hold the *membership* lock shared while they use the directory. They join and leave under the exclusive
/// *transition* lock, so a user cannot join after the last user's check and before the server's end.
final class FileLock: Sendable {
    private let file: Descriptor

    private init(_ path: String, owner: ServerUser) throws(EmbeddedPostgresError) {
        file = try Descriptor.open(path, O_RDWR | O_CREAT)
        try owner.receive(file, path)
    }

    /// Waits for the right to start or stop the server.
    ///
    /// - Throws: `busy` after three minutes, which is longer than a start or stop may take.
    static func transition(of place: DatabaseDirectory) throws(EmbeddedPostgresError) -> FileLock {
        let lock = try FileLock(place.transitionFile, owner: place.user)
        let isOurs = try poll(for: .seconds(180)) { () throws(EmbeddedPostgresError) -> Bool? in
            try lock.take(LOCK_EX, place.transitionFile) ? true : nil
        }
        guard isOurs == true else {
            throw EmbeddedPostgresError(
                """
                Another program has been starting or stopping Postgres in \(place.root) for three minutes. \
                Find it with `fuser \(place.transitionFile)`, stop it and try again.
                """
            )
        }
        return lock
    }

    /// Joins the directory's users. Requires the transition lock.
    static func membership(of place: DatabaseDirectory) throws(EmbeddedPostgresError) -> FileLock {
        let lock = try FileLock(place.lockFile, owner: place.user)
        guard try lock.take(LOCK_SH, place.lockFile) else {
            throw EmbeddedPostgresError(
                "Another program has locked \(place.lockFile). Stop it (`fuser \(place.lockFile)`) and try again."
            )
        }
        return lock
    }

    /// Makes a shared lock exclusive if it has no other holder. On failure the shared lock may be lost.
    func upgrade() -> Bool {
        flock(file.number, LOCK_EX | LOCK_NB) == 0
    }

    func release() {
        flock(file.number, LOCK_UN)
    }

    private func take(_ mode: CInt, _ path: String) throws(EmbeddedPostgresError) -> Bool {
        if flock(file.number, mode | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK || errno == EINTR else { throw .system("lock", path) }
        return false
    }
}
