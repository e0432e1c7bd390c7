import ArgumentParser
import RegistryCore
import RegistryServer
import RegistryStore

struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Drops tokens that look dead, or with --dry-run says which.",
        discussion: "A purge ends no activity: what a client observes later brings a token back."
    )

    @OptionGroup var scope: ScopeArguments
    @OptionGroup(title: "Filters") var filters: StaleOptions
    @Flag(help: "Counts what would be dropped, and drops nothing.") var dryRun = false
    @Flag(help: "Says that you mean it.") var yes = false

    func run() async throws {
        let filter = try filters.filter()
        guard dryRun != yes else {
            throw CommandFailure(.usage, "Say --dry-run to see what would be dropped, or --yes to drop it.")
        }
        try await scope.withRegistry { registry, scope in
            guard yes else { return try show(await registry.countStaleTokens(filter, in: scope)) }
            let purged = try await registry.purgeStaleTokens(filter, in: scope, by: Apps.who)
            if self.scope.json { try Output.results.line("{\"dryRun\":false,\"purged\":\(purged)}") }
            Output.errors.note("Purged \(purged) \(purged == 1 ? "token" : "tokens").")
        }
    }

    private func show(_ counts: StaleCounts) throws {
        guard !scope.json else { return try Output.results.line(counts.jsonLine) }
        var table = Table("Kind", "Reason", "Tokens")
        for entry in counts.entries { table.append(entry.kind.name, entry.reason.rawValue, "\(entry.count)") }
        if !counts.entries.isEmpty { try table.print() }
        let least = counts.isComplete ? "" : "At least "
        Output.errors.note("\(least)\(counts.total) would be purged. Nothing was changed.")
    }
}
