import Foundation
import PostgresDriver

package enum Shell {
    private struct Failed: Error, CustomStringConvertible {
        let description: String
    }

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
