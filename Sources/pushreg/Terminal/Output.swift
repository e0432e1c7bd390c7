import Foundation

struct Output: Sendable {
    /// Only the requested results.
    static let results = Output(descriptor: STDOUT_FILENO)
    /// Sentences, progress and logs.
    static let errors = Output(descriptor: STDERR_FILENO)

    let descriptor: Int32
    var isTerminal: Bool { isatty(descriptor) == 1 }

    func line(_ text: String) throws(CommandFailure) {
        try write(text + "\n")
    }

    /// Ignores write errors.
    func note(_ text: String) {
        try? line(text)
    }

    func write(_ text: String) throws(CommandFailure) {
        try write(Array(text.utf8))
    }

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
