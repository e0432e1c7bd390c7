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
        try await onOwnThread {
            let (results, words) = (Pipe(), Pipe())
            let process = Process(path, arguments, environment, results, words)
            try process.run()
            // These commands do not fill a pipe.
            let printed = String(decoding: results.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            let said = String(decoding: words.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return Outcome(status: process.terminationStatus, results: printed, words: said)
        }
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

package enum Shell {
    private struct Failed: Error, CustomStringConvertible { let description: String }

    /// - Returns: the script's output.
    /// - Throws: the script's output, if the script fails.
    @discardableResult
    package static func run(_ script: String, _ variables: [String: String] = [:]) async throws -> String {
        let variables = variables.merging(["LC_ALL": "C"]) { first, _ in first }
        let script = ["-euo", "pipefail", "-c", "exec 2>&1\n" + script]
        let outcome = try await Program.run("/bin/bash", script, variables)
        guard outcome.status == 0 else { throw Failed(description: outcome.results) }
        return outcome.results
    }
}
