import PostgresDriver
import RegistryCore

/// The metadata of activities and installations. It is read only if a caller requests it.
struct FoundMetadata: Sendable {
    private(set) var activities: [Int64: Metadata] = [:]
    private(set) var installations: [InstallationHash: Metadata] = [:]

    init() {}

    init(
        of keys: [Int64],
        _ hashes: [InstallationHash],
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws {
        let results = try session.pipeline([
            Query("resolve.read-metadata")(["scope": scope.id, "keys": keys]),
            Query("resolve.read-installation-metadata")(["scope": scope.id, "hashes": Array(Set(hashes))]),
        ])
        for (key, json) in try results[0].decode({ (try $0["activity_key"] as Int64, try $0["metadata"] as JSONB) }) {
            activities[key] = try Metadata(stored: json)
        }
        for (hash, json) in try results[1].decode({
            (try $0["installation_hash"] as InstallationHash, try $0["metadata"] as JSONB)
        }) { installations[hash] = try Metadata(stored: json) }
    }
}

extension Registry {
    /// Maximum activities that ``resolve(_:limitPerAlias:most:in:)`` returns with their metadata, about 4 MiB of JSON.
    package static let mostDescribed = 1000

    /// Adds the metadata of the activities and of their installations.
    package func describe(_ activities: [ResolvedActivity], in scope: Scope) async throws -> [ResolvedActivity] {
        let found = try await read {
            try FoundMetadata(of: activities.map(\.key), activities.compactMap(\.installation), in: scope, $0)
        }
        return activities.map { activity in
            var activity = activity
            activity.metadata = found.activities[activity.key]
            activity.installationMetadata = activity.installation.flatMap { found.installations[$0] }
            return activity
        }
    }

    package func describe(_ page: AliasPage, in scope: Scope) async throws -> AliasPage {
        var page = page
        page.activities = try await describe(page.activities, in: scope)
        return page
    }

    /// Adds the metadata of the tokens' installations.
    package func describe(_ tokens: [ResolvedToken], in scope: Scope) async throws -> [ResolvedToken] {
        let found = try await read { try FoundMetadata(of: [], tokens.map(\.installation), in: scope, $0) }
        return tokens.map { token in
            var token = token
            token.installationMetadata = found.installations[token.installation]
            return token
        }
    }
}
