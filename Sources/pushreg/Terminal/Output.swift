import Foundation

struct Output: Sendable {
    /// Standard output: only the requested results.
    static let results = Output(descriptor: STDOUT_FILENO)
    /// Standard error: sentences, progress and logs.
    static let errors = Output(descriptor: STDERR_FILENO)

    let descriptor: Int32
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Colours are used on a terminal, unless `NO_COLOR` is set (no-color.org).
    var isColourful: Bool {
        isTerminal && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    }

    /// Writes a line.
    ///
    /// - Throws: a ``CommandFailure`` when the stream does not take it, for example because the disk is full.
    func line(_ text: String) throws(CommandFailure) {
        try write(text + "\n")
    }

    /// A sentence that cannot be written is dropped.
    func note(_ text: String) {
        try? line(text)
    }

    /// - Throws: a ``CommandFailure`` if the write fails.
    func write(_ text: String) throws(CommandFailure) {
        try write(Array(text.utf8))
    }

    /// - Throws: a ``CommandFailure`` if the write fails.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                written += count
                continue
            }
            guard errno == EINTR else { throw Self.failure(errno) }
        }
    }

    private static func failure(_ code: Int32) -> CommandFailure {
        CommandFailure(.failed, "The output could not be written: \(String(cString: strerror(code))).")
    }
}
