import ArgumentParser
import RegistryCore
import RegistryStore

/// `pushreg resolve`: the tokens that an alias names, as a sender would see them.
struct Resolve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the tokens that work now for an alias, as a sender would get them.",
        discussion: "The tokens are printed whole: they are what was asked for. With --json each line is one activity."
    )

    @Argument(help: "The bundle id, such as com.example.food.") var bundleID: String
    @Argument(help: "sandbox or production.") var environment: String
    @Argument(help: "The alias's kind, such as liveactivityId.") var kind: String
    @Argument(help: "The alias's value.") var value: String
    @Flag(help: "Prints a line of JSON for each activity.") var json = false
    @OptionGroup(title: "Database") var database: DatabaseOptions

    func run() async throws {
        guard let environment = APNSEnvironment(rawValue: environment) else {
            throw CommandFailure(.usage, "ENVIRONMENT must be sandbox or production.")
        }
        let bundleID = try Apps.bundleID(bundleID)
        let alias = try alias()
        let settings = try DatabaseSettings(SettingSources(flags: database.flags))
        try await settings.withDatabase { database in
            guard let app = try await database.registry.app(bundleID) else {
                throw CommandFailure(.failed, "There is no app \(bundleID).")
            }
            try await show(alias, in: Scope(app: app, environment: environment), of: database.registry)
        }
    }

    private func alias() throws(CommandFailure) -> Alias {
        guard (try? Alias.checkKind(kind)) != nil else {
            throw CommandFailure(
                .usage,
                "KIND must begin with a letter and go on with letters, digits, '_', '.' or '-', 64 characters at most."
            )
        }
        do throws(JSONFaultReason) {
            return try Alias(kind: kind, value: value)
        } catch {
            throw CommandFailure(.usage, "VALUE \(error.detail).")
        }
    }

    private func show(_ alias: Alias, in scope: Scope, of registry: Registry) async throws {
        var table = Table("Activity", "Expires", "Token")
        var (last, count) = (Int64(0), 0)
        while true {
            let page = try await registry.activities(under: alias, after: last, limit: 1000, in: scope)
            for activity in page {
                if json { try Output.results.line(activity.jsonLine) }
                let token = Hexadecimal.encode(activity.token.bytes)
                table.append(activity.activityID.description, RFC3339.format(activity.expiresAt), token)
            }
            count += page.count
            guard let end = page.last else { break }
            last = end.number
        }
        if !json, count > 0 { try table.print() }
        Output.words.note(count == 1 ? "1 activity." : "\(count) activities.")
    }
}
