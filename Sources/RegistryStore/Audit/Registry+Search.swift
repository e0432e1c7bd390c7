import Foundation
import PostgresDriver
import RegistryCore

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

extension Registry {
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
    /// The range of 32-byte digests that begin with `prefix`.
    fileprivate static func digests(_ prefix: [UInt8]) -> QueryValues {
        ["first": prefix, "last": prefix + [UInt8](repeating: 0xFF, count: max(0, 32 - prefix.count))]
    }
}
