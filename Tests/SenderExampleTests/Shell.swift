import Foundation

enum Shell {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: its standard error, if it fails.
    static func run(_ command: [String], environment: [String: String] = [:]) async throws {
        let log = "/tmp/pushreg-sender-\(UUID().uuidString).log"
        defer { unlink(log) }
        let program = try ExampleProgram.start(command, environment, log: log)
        let status = await program.end()
        guard status == 0 else { throw Failure(description: program.log) }
    }
}
