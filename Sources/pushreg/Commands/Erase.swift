import ArgumentParser
import RegistryCore
import RegistryServer
import RegistryStore

struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Deletes all that is held about an alias, an installation or a signed-in user.",
        discussion: "What was observed before does not come back. Backups and Postgres's own log are not reached."
    )

    @OptionGroup var scope: ScopeArguments
    @Option(help: "All that bears this alias: kind:value.") var alias: String?
    @Option(help: "The installation of this id.") var installationID: String?
    @Option(help: "The signed-in user.") var subject: String?
    @Flag(help: "Says that you mean it; nothing brings it back.") var yes = false

    func run() async throws {
        guard [alias, installationID, subject].compactMap(\.self).count == 1 else {
            throw CommandFailure(.usage, "Name one of --alias, --installation-id and --subject.")
        }
        let alias = try readOption("--alias", alias, Alias.init(pair:))
        let installation = try readOption("--installation-id", installationID, InstallationID.init)
        let user = try readOption("--subject", subject, UTF8Text.subject)
        guard yes else { throw CommandFailure(.usage, "This deletes for good. Add --yes if you mean it.") }
        try await scope.withRegistry { registry, scope in
            let hash = installation.map { InstallationHash(of: $0, in: scope.app.bundleID) }
            let erased: ErasureSubject =
                if let alias { .alias(alias) } else if let hash { .installation(hash) } else {
                    .subject(user ?? "")
                }
            let counts = try await registry.erase(erased, in: scope, by: Apps.who)
            let (activities, records, events) = (counts.activities, counts.records, counts.events)
            if self.scope.json {
                try Output.results.line("{\"activities\":\(activities),\"records\":\(records),\"events\":\(events)}")
            }
            let gone = "Erased \(activities.of("activity", "activities")) and \(records.of("record", "records"))"
            Output.errors.note("\(gone), and redacted \(events.of("event", "events")).")
        }
    }
}

extension Int {
    fileprivate func of(_ one: String, _ more: String) -> String { self == 1 ? "1 \(one)" : "\(self) \(more)" }
}
