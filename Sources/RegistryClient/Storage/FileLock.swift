import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A lock that holds between processes, and goes with the process that holds it (`flock`).
///
/// It is held for the time of one reading and writing: iOS kills an app that is suspended while it holds a lock in the
/// container of an App Group.
struct FileLock {
    private let descriptor: Int32

    /// Waits for the lock; nil when its file cannot be opened.
    init?(_ file: URL) {
        descriptor = open(file.path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else {
                close(descriptor)
                return nil
            }
        }
    }

    func release() { close(descriptor) }
}
