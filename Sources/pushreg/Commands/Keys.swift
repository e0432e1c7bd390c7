import ArgumentParser
import Foundation
import RegistryCore
import RegistryServer
import RegistryStore

struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates, lists and revokes API keys.",
        subcommands: [Create.self, List.self, Revoke.self]
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates an API key and prints it. The key is not shown again.",
            discussion: """
                Roles: client registers and ends activities (the app may contain its key); sender resolves aliases to tokens \
                and reports feedback; auditor reads, with masked tokens; admin does everything in one app; root does \
                everything in all apps, without --app. Several keys of a role can be valid at once, so you can replace a \
                key without a gap.
                """
        )

        @Option(help: "The bundle id of the key's app. Root keys have no app.", transform: BundleID.init(_:))
        var app: BundleID?
        @Option(help: "The rights of the key.") var role: Role
        @Option(help: "A display name.", transform: APIKeyRequest.name) var name: String?
        @Option(
            name: .customLong("expires-in"),
            help: "The lifetime of the key, such as P90D. By default, it never expires.",
            transform: { try APIKeyRequest.expiry(in: .string($0), Date()) }
        )
        var expiresAt: Date?
        @Flag(help: "Prints {\"id\", \"role\", \"app\", \"key\"} as JSON.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            guard (role == .root) == (app == nil) else {
                throw CommandFailure(.usage, "Give the key's app with --app. Only root keys have no app.")
            }
            let (key, request) = (APIKey(random: role), APIKeyRequest(role: role, name: name, expiresAt: expiresAt))
            try await database.withDatabase { database in
                let (registry, digest) = (database.registry, key.secretDigest)
                let app = try await registry.existingApp(app)
                _ = try await registry.createKey(key.id, digest: digest, request, of: app, by: Apps.who)
            }
            Output.errors.note("Created \(key.id). The key is not shown again; keep it safe.")
            let members = JSONObject([
                ("id", .string(key.id.rawValue)), ("role", .string(role.rawValue)),
                ("app", app.map { .string($0.rawValue) } ?? .null), ("key", .string(key.text.revealed)),
            ])
            try Output.results.line(json ? members.jsonLine : key.text.revealed)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists API keys without their secrets, including revoked and expired keys."
        )

        @Option(help: "The bundle id of the app; by default, all keys are listed.", transform: BundleID.init(_:))
        var app: BundleID?
        @Flag(help: "Prints a line of JSON for each key.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            let keys = try await database.withDatabase { database in
                let app = try await database.registry.existingApp(app)
                return try await database.registry.keys(of: app)
            }
            try Output.results.list(
                keys,
                asJSON: json,
                ["Id", "Role", "App", "Name", "State", "Created", "Last used"]
            ) { key in
                let times = [RFC3339.format(key.createdAt), key.lastUsedAt.map { RFC3339.format($0) } ?? "never"]
                let names = [key.id.rawValue, key.id.role.rawValue, key.app?.rawValue ?? "", key.name ?? ""]
                return names + [key.state(at: Date())] + times
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revokes an API key permanently. All instances refuse it within 5 seconds."
        )

        @Argument(help: "The key's id, such as prc_0aB1cD2eF3gH. Do not give the whole key.") var id: String
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            guard let id = try? APIKeyID(id) else {
                throw CommandFailure(.usage, "ID must be the id of an API key, such as prc_0aB1cD2eF3gH.")
            }
            let isRevoked = try await database.withDatabase { database in
                guard let key = try await database.registry.storedKeys(id).first else { return false }
                return try await database.registry.revokeKey(id, ofApp: key.appID, by: Apps.who)
            }
            guard isRevoked else { throw CommandFailure(.failed, "The key \(id) does not exist.") }
            Output.errors.note("Revoked \(id).")
        }
    }
}

extension Registry {
    fileprivate func existingApp(_ bundleID: BundleID?) async throws -> App? {
        guard let bundleID else { return nil }
        guard let app = try await app(bundleID) else { throw CommandFailure.noApp(bundleID) }
        return app
    }
}
