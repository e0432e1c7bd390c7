import ArgumentParser
import RegistryCore
import RegistryStore

struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Drops tokens that look dead, or counts them with --dry-run.",
        discussion: "A purge does not end activities. A later registration of a token restores it."
    )

    @OptionGroup var scope: ScopeArguments
    @OptionGroup(title: "Filters") var filters: StaleOptions
    @Flag(help: "Counts the tokens, and drops none.") var dryRun = false
    @Flag(help: "Confirms the purge.") var yes = false

    func run() async throws {
        guard dryRun != yes else {
            throw CommandFailure(.usage, "Add --dry-run to count the tokens, or --yes to drop them.")
        }
        try await scope.withRegistry { registry, scope in
            let filter = try filters.filter(of: scope.app)
            guard yes else { return try show(await registry.countStaleTokens(filter, in: scope)) }
            let purged = try await registry.purgeStaleTokens(filter, in: scope, by: Apps.who)
            if self.scope.json { try Output.results.line("{\"dryRun\":false,\"purged\":\(purged)}") }
            Output.errors.note("Purged \(purged.of("token")).")
        }
    }

    private func show(_ counts: StaleCounts) throws {
        guard !scope.json else { return try Output.results.line(counts.jsonLine) }
        if !counts.entries.isEmpty {
            let rows = counts.entries.map { [$0.kind.name, $0.reason.rawValue, "\($0.count)"] }
            try Output.results.table(["Kind", "Reason", "Tokens"], rows)
        }
        let least = counts.isComplete ? "" : "At least "
        Output.errors.note("\(least)\(counts.total) would be purged. Nothing was changed.")
    }
}

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
            let gone = "Erased \(activities.of("activity", "activities")) and \(records.of("record"))"
            Output.errors.note("\(gone), and redacted \(events.of("event")).")
        }
    }
}
