import ArgumentParser
import RegistryCore
import RegistryStore

struct Apps: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates, lists, shows and deletes apps.",
        subcommands: [Create.self, List.self, Show.self, Delete.self]
    )

    static let who: UTF8Text = "command-line"

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates an app, or changes the given settings of an existing app."
        )

        @Argument(help: "The bundle id, such as com.example.food.", transform: BundleID.init(_:)) var bundleID: BundleID
        @Option(help: "A display name.") var name: String?
        @Option(help: "How long an activity runs, such as PT8H.") var activityLifetime: String?
        @Option(help: "How long an ended activity is remembered, such as P7D.") var tombstoneRetention: String?
        @Option(help: "How long audit events are kept, such as P90D.") var eventRetention: String?
        @Option(
            help:
                "Kinds of tokens as JSON, such as {\"controls\": {\"topicSuffix\": \".push-type.controls\", \"pushType\": \"controls\"}}."
        )
        var tokenKinds: String?
        @Flag(help: "Prints the app as JSON.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            let changes = try changes()
            let (app, isNew) = try await database.withDatabase { database in
                try await database.registry.put(changes, for: bundleID, by: Apps.who)
            }
            Output.errors.note(
                isNew ? "Created \(bundleID)." : "\(bundleID) already existed; the given settings were applied."
            )
            if json { try Output.results.line(app.jsonLine) }
        }

        private func changes() throws(CommandFailure) -> AppChanges {
            let members = [
                ("name", "--name", name), ("activityLifetime", "--activity-lifetime", activityLifetime),
                ("tombstoneRetention", "--tombstone-retention", tombstoneRetention),
                ("eventRetention", "--event-retention", eventRetention), ("tokenKinds", "--token-kinds", tokenKinds),
            ]
            let given = members.compactMap { member, _, text in
                text.map {
                    (member, (member == "tokenKinds" ? try? JSONParser.parse(Array($0.utf8)) : nil) ?? .string($0))
                }
            }
            var json = JSONReader(.object(JSONObject(given)))
            let changes = AppChanges(from: &json)
            guard let fault = json.faults.first else { return changes }
            let flag = members.first { fault.pointer.split(separator: "/").first ?? "" == $0.0 }.map(\.1) ?? ""
            throw CommandFailure(.usage, "\(flag) \(fault.detail).")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists all apps.")

        @Flag(help: "Prints a line of JSON for each app.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            let apps = try await database.withDatabase { try await $0.registry.apps() }
            try Output.results.list(apps, asJSON: json, ["Bundle id", "Name", "Lifetime", "Created"]) { app in
                let lifetime = ISO8601Duration.format(app.settings.activityLifetime)
                return [app.bundleID.rawValue, app.settings.name ?? "", lifetime, RFC3339.format(app.createdAt)]
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows an app and its settings, as JSON.")

        @Argument(help: "The bundle id.", transform: BundleID.init(_:)) var bundleID: BundleID
        @Flag(help: "Prints JSON, which is also the default.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            let app = try await database.withDatabase { try await $0.registry.app(bundleID) }
            guard let app else { throw CommandFailure.noApp(bundleID) }
            try Output.results.line(app.jsonLine)
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Deletes an app and everything that belongs to it.")

        @Argument(help: "The bundle id.", transform: BundleID.init(_:)) var bundleID: BundleID
        @Flag(help: "Confirms the deletion, which cannot be undone.") var yes = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            guard yes else {
                throw CommandFailure(.usage, "This deletes \(bundleID) and all its activities. Add --yes to confirm.")
            }
            let isDeleted = try await database.withDatabase { try await $0.registry.deleteApp(bundleID, by: Apps.who) }
            guard isDeleted else { throw CommandFailure.noApp(bundleID) }
            Output.errors.note("Deleted \(bundleID).")
        }
    }
}
