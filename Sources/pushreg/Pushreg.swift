import ArgumentParser
import Foundation

/// Reports errors as a sentence on standard error and an exit code.
@main
struct Pushreg: AsyncParsableCommand {
    static let version = "1.0.0"

    static let configuration = CommandConfiguration(
        commandName: "pushreg",
        abstract: "Stores the push tokens of Live Activities and gives them to senders of pushes.",
        discussion: """
            A setting comes from its flag, its environment variable, the config file or its default, in this order. \
            Data goes to standard output; messages and logs go to standard error.

            Exit codes: 0 success, 1 failure, 64 wrong usage, 69 a required service is not available, 77 not permitted.
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
            guard let failure = CommandFailure(cause: error) else { exit(withError: error) }
            Output.errors.note("pushreg: \(failure.sentence)")
            Foundation.exit(failure.status.rawValue)
        }
    }
}
