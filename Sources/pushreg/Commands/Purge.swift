import ArgumentParser
import RegistryCore
import RegistryServer
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
            Output.errors.note("Purged \(purged) \(purged == 1 ? "token" : "tokens").")
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
