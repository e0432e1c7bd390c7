import ArgumentParser
import Foundation

/// Reports errors as a sentence on standard error and an exit code.
@main
struct Pushreg: AsyncParsableCommand {
    static let version = "1.0.0"

    static let configuration = CommandConfiguration(
        commandName: "pushreg",
        abstract: "Keeps the push tokens of Live Activities, and hands them to those who send the pushes.",
        discussion: """
            A setting comes from its flag, else from its environment variable, else from the config file, else it has a \
            default. Data goes to standard output, words and logs to standard error.

            Exit codes: 0 done, 1 failed, 64 used wrongly, 69 something that is needed is not available, 77 not permitted.
            """,
        version: version,
        subcommands: [
            Serve.self, Demo.self, Migrate.self, Apps.self, Keys.self, Resolve.self, Audit.self, Purge.self,
            Erase.self, Export.self, Import.self, Doctor.self, Config.self,
        ]
    )

    static func main() async {
        // A closed pipe, as in `pushreg demo | head`, becomes a write error, so that commands can clean up.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try await asyncParseAsRoot()
            if var asyncCommand = command as? any AsyncParsableCommand {
                try await asyncCommand.run()
            } else {
                try command.run()
            }
        } catch {
            if let failure = CommandFailure(cause: error) { stop(failure) }
            exit(withError: error)
        }
    }

    private static func stop(_ failure: CommandFailure) -> Never {
        Output.errors.note("pushreg: \(failure.sentence)")
        Foundation.exit(failure.status.rawValue)
    }
}
