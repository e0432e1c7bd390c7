import Foundation
import TestSupport

enum Program {
    struct Outcome {
        let status: Int32
        let results: String
        let words: String
    }

    static var executable: URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("pushreg")
    }

    /// Runs a command with only the given environment.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        try await run(executable, arguments, environment)
    }

    /// Runs a command with a standard output that cannot be written, like a full disk.
    static func intoNowhere(_ arguments: [String]) async throws -> Outcome {
        let shell = ["-c", #"exec "$0" "$@" >/dev/full"#, executable.path]
        return try await run("/bin/sh", shell + arguments)
    }

    static func run(_ name: String, _ arguments: [String], _ more: [String: String] = [:]) async throws -> Outcome {
        try await run(URL(fileURLWithPath: name), arguments, more)
    }

    static func run(_ program: URL, _ arguments: [String], _ environment: [String: String]) async throws -> Outcome {
        let (results, words) = (Pipe(), Pipe())
        let process = Process(program, arguments, environment, results, words)
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
        _ program: URL,
        _ arguments: [String],
        _ environment: [String: String],
        _ output: Pipe,
        _ errors: Pipe
    ) {
        self.init()
        executableURL = program
        self.arguments = arguments
        self.environment = environment.merging(["PATH": "/usr/bin:/bin", "HOME": "/tmp"]) { first, _ in first }
        standardInput = FileHandle.nullDevice
        standardOutput = output
        standardError = errors
    }
}

extension TestDatabase {
    var flags: [String] { ["--database-url", connectionString, "--unsafe-durability"] }
}
