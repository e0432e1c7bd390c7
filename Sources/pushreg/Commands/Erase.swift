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
    @Option(help: "All records with this alias: kind:value.", transform: Alias.init(pair:)) var alias: Alias?
    @Option(help: "The installation with this id.", transform: InstallationID.init) var installationID: InstallationID?
    @Option(help: "The signed-in user.", transform: UTF8Text.subject) var subject: UTF8Text?
    @Flag(help: "Confirms the erasure, which cannot be undone.") var yes = false

    func run() async throws {
        let named: [ErasureSubject?] = [
            alias.map { .alias($0) }, subject.map { .subject($0) },
            installationID.map { .installation(InstallationHash(of: $0, in: scope.bundleID)) },
        ]
        let subjects = named.compactMap(\.self)
        guard subjects.count == 1 else {
            throw CommandFailure(.usage, "Give one of --alias, --installation-id and --subject.")
        }
        guard yes else { throw CommandFailure(.usage, "An erasure cannot be undone. Add --yes to confirm.") }
        try await scope.withRegistry { registry, scope in
            let counts = try await registry.erase(subjects[0], in: scope, by: Apps.who)
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
