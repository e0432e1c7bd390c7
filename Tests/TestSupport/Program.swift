import Foundation

package enum Program {
    package struct Outcome: Sendable {
        package let status: Int32
        package let results: String
        package let words: String
    }

    /// Runs a program with only the given environment.
    ///
    /// - Returns: its exit code, and the texts of standard output and standard error.
    package static func run(
        _ path: String,
        _ arguments: [String],
        _ environment: [String: String] = [:]
    ) async throws -> Outcome {
        let (results, words) = (Pipe(), Pipe())
        let process = Process(path, arguments, environment, results, words)
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try collect(process, results, words) })
            }
        }
    }

    private static func collect(_ process: Process, _ results: Pipe, _ words: Pipe) throws -> Outcome {
        try process.run()
        // These commands do not fill a pipe.
        let printed = String(decoding: results.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let said = String(decoding: words.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Outcome(status: process.terminationStatus, results: printed, words: said)
    }
}

extension Process {
    convenience init(
        _ path: String,
        _ arguments: [String],
        _ environment: [String: String],
        _ output: Pipe,
        _ errors: Pipe
    ) {
        self.init()
        executableURL = URL(fileURLWithPath: path)
        self.arguments = arguments
        self.environment = environment.merging(["PATH": "/usr/bin:/bin", "HOME": "/tmp"]) { first, _ in first }
        standardInput = FileHandle.nullDevice
        standardOutput = output
        standardError = errors
    }
}
