import Foundation
import Synchronization

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
