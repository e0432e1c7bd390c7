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
}

extension Keys {
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

        @Option(help: "The bundle id of the key's app. Root keys have no app.") var app: String?
        @Option(help: "client, sender, auditor, admin or root.") var role: String
        @Option(help: "A display name.") var name: String?
        @Option(help: "The lifetime of the key, such as P90D. By default, it never expires.") var expiresIn: String?
        @Flag(help: "Prints {\"id\", \"role\", \"app\", \"key\"} as JSON.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            let (bundleID, request) = (try bundleID(), try request())
            let key = APIKey(random: request.role)
            try await database.withDatabase { database in
                let app = try await database.registry.existingApp(bundleID)
                _ = try await database.registry.createKey(
                    key.id,
                    digest: key.secretDigest,
                    request,
                    of: app,
                    by: Apps.who
                )
            }
            Output.errors.note("Created \(key.id). The key is not shown again; keep it safe.")
            try Output.results.line(json ? members(key, bundleID).jsonLine : key.text.revealed)
        }

        private func members(_ key: APIKey, _ bundleID: BundleID?) -> JSONObject {
            JSONObject([
                ("id", .string(key.id.rawValue)), ("role", .string(key.id.role.rawValue)),
                ("app", bundleID.map { .string($0.rawValue) } ?? .null), ("key", .string(key.text.revealed)),
            ])
        }

        private func bundleID() throws(CommandFailure) -> BundleID? {
            guard (role == Role.root.rawValue) == (app == nil) else {
                throw CommandFailure(.usage, "Give the key's app with --app. Only root keys have no app.")
            }
            return try app.map(Apps.bundleID)
        }

        private func request() throws(CommandFailure) -> APIKeyRequest {
            guard let role = Role(rawValue: role) else {
                let roles = Role.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandFailure(.usage, "--role must be one of \(roles).")
            }
            do throws(JSONFaultReason) {
                let name = try name.map(APIKeyRequest.name)
                let expiresAt = try expiresIn.map { text throws(JSONFaultReason) in
                    try APIKeyRequest.expiry(in: Duration.read(.string(text)), Date())
                }
                return APIKeyRequest(role: role, name: name, expiresAt: expiresAt)
            } catch {
                throw CommandFailure(.usage, "The value of --name or --expires-in \(error.detail).")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists API keys without their secrets, including revoked and expired keys."
        )

        @Option(help: "The bundle id of the app; by default, all keys are listed.") var app: String?
        @Flag(help: "Prints a line of JSON for each key.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            let bundleID = try app.map(Apps.bundleID)
            let keys = try await database.withDatabase { database in
                guard let app = try await database.registry.existingApp(bundleID) else {
                    return try await database.registry.keys(of: nil)
                }
                return try await database.registry.keys(of: app)
            }
            try Output.results.list(
                keys,
                asJSON: json,
                ["Id", "Role", "App", "Name", "State", "Created", "Last used"]
            ) { key in
                let times = [RFC3339.format(key.createdAt), key.lastUsedAt.map { RFC3339.format($0) } ?? "never"]
                let names = [key.id.rawValue, key.id.role.rawValue, key.app?.rawValue ?? "", key.name ?? ""]
                return names + [key.state] + times
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
                guard let key = try await database.registry.storedKeys(id).first?.record else { return false }
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

extension APIKeyRecord {
    fileprivate var state: String {
        if revokedAt != nil { return "revoked" }
        return isValid(at: Date()) ? "valid" : "expired"
    }
}
