import Foundation

/// A file that an export is written to. Only its owner may read it: it holds tokens.
enum ExportFile {
    /// Opens a file, or makes it.
    ///
    /// - Parameters:
    ///   - mayBeThere: whether one that is there is opened.
    ///   - remedy: what to do about one that is there and must not be.
    /// - Throws: a ``CommandFailure`` when it cannot be opened, or is no file: a device would get the rights of a file of tokens.
    static func open(_ path: String, mayBeThere: Bool, otherwise remedy: String) throws(CommandFailure) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | (mayBeThere ? 0 : O_EXCL)
        let descriptor = Foundation.open(path, flags, 0o600)
        if descriptor < 0, errno == EEXIST {
            throw isNoFile(path) ? noFile(path) : CommandFailure(.usage, "\(path) is there already. \(remedy)")
        }
        guard descriptor >= 0 else { throw failure(path, errno) }
        guard !isNoFile(path) else {
            Foundation.close(descriptor)
            throw noFile(path)
        }
        return descriptor
    }

    private static func isNoFile(_ path: String) -> Bool {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let type = try? FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType
        return type.map { $0 != .typeRegular } ?? false
    }

    private static func noFile(_ path: String) -> CommandFailure {
        CommandFailure(
            .usage,
            "\(path) is no file. Leave --output away to write to standard output, which may be anything."
        )
    }

    /// Sees to it that a file is on disk, and closes it; standard output stays open.
    ///
    /// - Throws: a ``CommandFailure`` when the disk does not take it.
    static func close(_ output: Output) throws(CommandFailure) {
        guard output.descriptor != STDOUT_FILENO else { return }
        let isOnDisk = fsync(output.descriptor) == 0
        let code = errno
        Foundation.close(output.descriptor)
        guard isOnDisk else {
            throw CommandFailure(.failed, "The file could not be kept: \(String(cString: strerror(code))).")
        }
    }

    /// Says why a file could not be written.
    static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        switch code {
        case EACCES, EPERM: CommandFailure(.notPermitted, "\(path) may not be written by this user.")
        default: CommandFailure(.failed, "\(path) could not be written: \(String(cString: strerror(code))).")
        }
    }
}
