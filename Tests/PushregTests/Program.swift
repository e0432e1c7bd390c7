import Foundation
import TestSupport

extension Program {
    static var executable: URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("pushreg")
    }

    /// Runs a command of pushreg with only the given environment.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        try await run(executable.path, arguments, environment)
    }

    /// Runs a command with a standard output that cannot be written, like a full disk.
    static func intoNowhere(_ arguments: [String]) async throws -> Outcome {
        let shell = ["-c", #"exec "$0" "$@" >/dev/full"#, executable.path]
        return try await run("/bin/sh", shell + arguments)
    }
}

extension RunningProgram {
    /// Starts a command of pushreg with only the given environment.
    static func start(_ arguments: [String], environment: [String: String] = [:]) throws -> RunningProgram {
        try start(Program.executable.path, arguments, environment)
    }

    /// The programs with a working directory in `directory`, such as all processes of a Postgres.
    static func idsRunning(in directory: String) -> [pid_t] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { pid_t($0) } ?? []
        return all.filter { id in
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/cwd")
            return place?.hasPrefix(directory) == true
        }
    }
}

extension TestDatabase {
    var flags: [String] { ["--database-url", connectionString, "--unsafe-durability"] }
}
