import Foundation
import Synchronization

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
    /// - Throws: after half an hour, which is longer than a start or stop may take.
    static func transition(of place: DatabaseDirectory) throws(EmbeddedPostgresError) -> FileLock {
        let lock = try FileLock(place.transitionFile, owner: place.user)
        let isOurs = try poll(for: Server.patience) { () throws(EmbeddedPostgresError) -> Bool? in
            try lock.take(LOCK_EX, place.transitionFile) ? true : nil
        }
        guard isOurs == true else {
            throw EmbeddedPostgresError(
                """
                Another program has been starting or stopping Postgres in \(place.root) for half an hour. \
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
    func upgrade() -> Bool { flock(file.number, LOCK_EX | LOCK_NB) == 0 }
    func release() { flock(file.number, LOCK_UN) }

    private func take(_ mode: CInt, _ path: String) throws(EmbeddedPostgresError) -> Bool {
        if flock(file.number, mode | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK || errno == EINTR else { throw .system("lock", path) }
        return false
    }
}

/// An open file. It closes with its last reference, and child processes do not inherit it.
final class Descriptor: Sendable {
    let number: CInt
    private let isOpen = Mutex(true)

    init(_ original: CInt) {
        // A program started without standard streams gets 0, 1 or 2 here, and a child's streams would overwrite it.
        let moved = fcntl(original, F_DUPFD_CLOEXEC, 10)
        if moved >= 0 { Glibc.close(original) }
        number = moved >= 0 ? moved : original
    }

    deinit { close() }

    /// Never follows a symbolic link, because a user whom root must not trust may own the directory.
    static func open(_ path: String, _ flags: CInt, mode: mode_t = 0o600) throws(EmbeddedPostgresError) -> Descriptor {
        let number = Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
        guard number >= 0 else { throw .system("open", path) }
        return Descriptor(number)
    }

    /// Held while a program starts, and while a pipe is made that is not yet close-on-exec.
    static let inheritance = Mutex(())

    static func pipe() throws(EmbeddedPostgresError) -> (read: Descriptor, write: Descriptor) {
        let ends: (Descriptor, Descriptor)? = inheritance.withLock { _ in
            var ends: [CInt] = [0, 0]
            return Glibc.pipe(&ends) == 0 ? (Descriptor(ends[0]), Descriptor(ends[1])) : nil
        }
        guard let ends else { throw .system("open", "a pipe") }
        return ends
    }

    static var allOpen: [CInt] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { CInt($0) }
    }

    func close() {
        isOpen.withLock { isOpen in
            if isOpen { Glibc.close(number) }
            isOpen = false
        }
    }

    func readAll() -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(number, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
        }
    }
}
