import ArgumentParser
import RegistryCore
import RegistryServer
import RegistryStore

struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Deletes all data about an alias, an installation or a signed-in user.",
        discussion: "Data observed before the erasure is not stored again. Backups and Postgres's logs are not erased."
    )

    @OptionGroup var scope: ScopeArguments
    @Option(help: "All records with this alias: kind:value.") var alias: String?
    @Option(help: "The installation with this id.") var installationID: String?
    @Option(help: "The signed-in user.") var subject: String?
    @Flag(help: "Confirms the erasure, which cannot be undone.") var yes = false

    func run() async throws {
        guard [alias, installationID, subject].compactMap(\.self).count == 1 else {
            throw CommandFailure(.usage, "Give one of --alias, --installation-id and --subject.")
        }
        let alias = try readOption("--alias", alias, Alias.init(pair:))
        let installation = try readOption("--installation-id", installationID, InstallationID.init)
        let user = try readOption("--subject", subject, UTF8Text.subject)
        guard yes else { throw CommandFailure(.usage, "An erasure cannot be undone. Add --yes to confirm.") }
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
