import ArgumentParser
import RegistryCore
import RegistryStore

struct Resolve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the tokens that a sender gets for an alias now.",
        discussion: "Tokens are not masked. With --json, each line is one activity."
    )

    @OptionGroup var scope: ScopeArguments
    @OptionGroup var named: AliasArguments

    func run() async throws {
        try await scope.withRegistry { registry, scope in
            var (rows, last, count) = ([[String]](), Int64(0), 0)
            while case let page = try await registry.activities(under: named.alias, after: last, limit: 1000, in: scope),
                let end = page.last
            {
                for activity in page {
                    if self.scope.json {
                        try Output.results.line(activity.jsonLine)
                    } else {
                        let token = Hexadecimal.encode(activity.token.bytes)
                        rows.append([activity.activityID.description, RFC3339.format(activity.expiresAt), token])
                    }
                }
                (last, count) = (end.key, count + page.count)
            }
            if !rows.isEmpty { try Output.results.table(["Activity", "Expires", "Token"], rows) }
            Output.errors.note("\(count.of("activity", "activities")).")
        }
    }
}
