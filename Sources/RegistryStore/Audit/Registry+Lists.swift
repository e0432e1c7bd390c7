import Foundation
import PostgresDriver
import RegistryCore

package struct ListedChannel: Sendable, Hashable {
    package let alias: Alias
    package let channel: BroadcastChannel
    package let updatedAt: Date
}

extension Registry {
    package func isUsed(_ scope: Scope) async throws -> Bool {
        let hasActivity = try await read { session in
            let range = NumberRange.find(of: .update, after: 0, size: 1, in: scope)
            return try session.execute(range).decode(NumberRange.self)[0].last != nil
        }
        if hasActivity { return true }
        return try await !installations(limit: 1, in: scope).isEmpty
    }

    /// Most recently active first, without tokens.
    package func installations(
        after last: (touchedAt: Date, installation: InstallationHash)? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> [InstallationRecord] {
        let values: QueryValues = [
            "scope": scope.id, "touched_at": last?.touchedAt ?? .distantFuture,
            "installation": last?.installation.bytes ?? [], "limit": limit,
        ]
        return try await read { try $0.run("audit.list-installations", values).decode() }
    }

    /// In the order of their aliases.
    package func channels(after alias: Alias? = nil, limit: Int, in scope: Scope) async throws -> [ListedChannel] {
        let values: QueryValues = [
            "scope": scope.id, "kind": alias?.kind ?? "", "value": alias?.value ?? "", "limit": limit,
        ]
        return try await read { session in
            try session.run("audit.list-channels", values).decode { row in
                let alias = Alias(checkedKind: try row["kind"], value: try row["value"])
                let channel = try BroadcastChannel(row: row)
                return ListedChannel(alias: alias, channel: channel, updatedAt: try row["updated_at"])
            }
        }
    }

    package func channelCounts(in scope: Scope) async throws -> (aliases: Int, channels: Int) {
        try await read { session in
            try session.run("audit.count-channels", ["scope": scope.id])
                .decode { (aliases: try $0["aliases"], channels: try $0["channels"]) }[0]
        }
    }

    package func findActivities(
        _ searches: [ActivitySearch],
        limit: Int,
        in scope: Scope
    ) async throws -> [AliasExplanation.Activity] {
        try await read { session in
            var known: Set<Int64> = []
            return try session.pipeline(searches.map { $0.query(limit: limit, in: scope) }).flatMap { result in
                try result.decode(AliasExplanation.Activity.self).sorted { one, other in
                    one.isClosed == other.isClosed ? one.key > other.key : other.isClosed
                }
            }.filter { known.insert($0.key).inserted }
        }
    }

    /// Installations with a hash, or a token's SHA-256, that begins with `prefix`.
    package func findInstallations(
        beginningWith prefix: [UInt8],
        limit: Int,
        in scope: Scope
    ) async throws -> [InstallationHash] {
        try await findInstallations("audit.find-installations", ["scope": scope.id, "limit": limit] + .digests(prefix))
    }

    package func findInstallations(under alias: Alias, limit: Int, in scope: Scope) async throws -> [InstallationHash] {
        try await findInstallations("audit.find-installations-of-alias", alias.values(in: scope) + ["limit": limit])
    }

    private func findInstallations(_ query: Query, _ values: QueryValues) async throws -> [InstallationHash] {
        try await read { session in
            try session.run(query, values).decode { try $0["installation_hash"] }
        }
    }
}

package enum ActivitySearch: Sendable, Hashable {
    case id(UTF8Text)
    case alias(kind: UTF8Text?, value: UTF8Text)
    /// The first bytes of its token's SHA-256, at least one.
    case fingerprint([UInt8])
    /// The first bytes of its installation's hash. Finds activities that have not ended.
    case installation([UInt8])
    case running
    case over
}

extension ActivitySearch {
    func query(limit: Int, in scope: Scope) -> SQL {
        let values: QueryValues = ["scope": scope.id, "limit": limit]
        return switch self {
        case .id(let id): Query("audit.find-by-id")(["scope": scope.id, "id": id])
        case .alias(let kind, let value): Query("audit.find-by-alias")(values + ["value": value, "kind": kind])
        case .fingerprint(let prefix): Query("audit.find-by-fingerprint")(values + .digests(prefix))
        case .installation(let prefix): Query("audit.find-by-installation")(values + .digests(prefix))
        case .running: Query("audit.find-running")(values)
        case .over: Query("audit.find-closed")(values)
        }
    }
}

extension QueryValues {
    /// The range of digests, of at most 32 bytes, that begin with `prefix`.
    fileprivate static func digests(_ prefix: [UInt8]) -> QueryValues {
        ["first": prefix, "last": prefix + [UInt8](repeating: 0xFF, count: max(0, 32 - prefix.count))]
    }
}
