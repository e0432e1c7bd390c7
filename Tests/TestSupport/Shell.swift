import Foundation
import PostgresDriver

package enum Shell {
    private struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: the script's output, if the script fails.
    package static func run(_ script: String, _ variables: [String: String] = [:]) async throws {
        let shell = Process()
        let output = Pipe()
        shell.executableURL = URL(fileURLWithPath: "/bin/bash")
        shell.arguments = ["-euo", "pipefail", "-c", script]
        shell.environment = variables.merging(["PATH": "/usr/bin:/bin", "LC_ALL": "C"]) { first, _ in first }
        shell.standardInput = FileHandle.nullDevice
        shell.standardOutput = output
        shell.standardError = output
        try shell.run()
        let text = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let bytes = output.fileHandleForReading.readDataToEndOfFile()
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }
        }
        shell.waitUntilExit()
        guard shell.terminationStatus == 0 else { throw Failed(description: text) }
    }
}

extension TestDatabase {
    /// In the script, `$bin` is the directory of Postgres's programs, and `$database` is the connection string.
    package func shell(_ script: String, _ variables: [String: String] = [:]) async throws {
        let programs = try await pool.withSession { session in
            try session.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'")[0].decode(String.self)
        }
        try await Shell.run(
            script,
            variables.merging(["bin": programs, "database": connectionString]) { first, _ in first }
        )
    }
}
