import ArgumentParser
import RegistryCore
import RegistryStore

struct Resolve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the tokens that a sender gets for an alias now.",
        discussion: "Tokens are not masked. With --json, each line is one activity."
    )

    @Argument(help: "The bundle id, such as com.example.food.") var bundleID: String
    @Argument(help: "sandbox or production.") var environment: String
    @Argument(help: "The alias's kind, such as liveactivityId.") var kind: String
    @Argument(help: "The alias's value.") var value: String
    @Flag(help: "Prints a line of JSON for each activity.") var json = false
    @OptionGroup(title: "Database") var database: DatabaseOptions

    func run() async throws {
        let alias = try readAlias(kind: kind, value: value)
        try await database.withScope(bundleID, environment) { registry, scope in
            try await show(alias, in: scope, of: registry)
        }
    }

    private func show(_ alias: Alias, in scope: Scope, of registry: Registry) async throws {
        var table = Table("Activity", "Expires", "Token")
        var (last, count) = (Int64(0), 0)
        while true {
            let page = try await registry.activities(under: alias, after: last, limit: 1000, in: scope)
            for activity in page {
                if json {
                    try Output.results.line(activity.jsonLine)
                } else {
                    let token = Hexadecimal.encode(activity.token.bytes)
                    table.append(activity.activityID.description, RFC3339.format(activity.expiresAt), token)
                }
            }
            count += page.count
            guard let end = page.last else { break }
            last = end.key
        }
        if !json, count > 0 { try table.print() }
        Output.errors.note(count == 1 ? "1 activity." : "\(count) activities.")
    }
}
