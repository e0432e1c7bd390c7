import Foundation
import PostgresDriver
import RegistryCore

package enum ActivitySearch: Sendable, Hashable {
    case id(UTF8Text)
    case alias(kind: UTF8Text?, value: UTF8Text)
    /// The first bytes of the SHA-256 of its token: at least one byte.
    case fingerprint([UInt8])
    /// The first bytes of the hash of its installation; finds activities that have not ended.
    case installation([UInt8])
    /// Activities that are neither ended nor expired, the latest first.
    case running
    /// Activities that have ended or expired, the latest first.
    case over
}

extension Registry {
    package func findActivities(
        _ searches: [ActivitySearch],
        limit: Int,
        in scope: Scope
    ) async throws -> [AliasExplanation.Activity] {
        let statements = SearchStatements(scope: scope, limit: limit)
        return try await read { session in
            var known: Set<Int64> = []
            return try session.pipeline(searches.map(statements.activities)).flatMap { result in
                try result.decode(AliasExplanation.Activity.columns)
            }.filter { known.insert($0.key).inserted }
        }
    }

    /// Installations whose hash begins with some bytes, or that hold a start or device token whose SHA-256 does.
    package func findInstallations(
        beginningWith prefix: [UInt8],
        limit: Int,
        in scope: Scope
    ) async throws -> [InstallationHash] {
        try await findInstallations(SearchStatements(scope: scope, limit: limit).installations(prefix))
    }

    /// Installations whose start and device tokens are found under an alias.
    package func findInstallations(under alias: Alias, limit: Int, in scope: Scope) async throws -> [InstallationHash] {
        let statements = SearchStatements(scope: scope, limit: limit)
        return try await findInstallations(statements.installations(under: alias))
    }

    private func findInstallations(_ statement: SQL) async throws -> [InstallationHash] {
        try await read { session in
            try session.execute(statement).decode(InstallationHash.self)
        }
    }
}

/// The statements that find activities and installations, each by an index.
struct SearchStatements {
    let scope: Scope
    let limit: Int

    private static let isOver = "(s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL)"

    /// The activities that are found, with why each is handed out or not. Those that are not over come first, the
    /// newest of them first.
    func activities(_ search: ActivitySearch) -> SQL {
        """
        \(sql: ExplainStatements.activities(among: "(\(sql: candidates(search)) LIMIT \(limit))", in: scope))
        ORDER BY al.ended, al.activity_key DESC
        """
    }

    /// Activities as ``ExplainStatements/activities(_:among:in:)`` takes them.
    func candidates(_ search: ActivitySearch) -> SQL {
        switch search {
        case .id(let id): "\(sql: activities) AND s.activity_id = \(id)"
        case .alias(let kind?, let value): "\(sql: aliases) AND s.value = \(value) AND s.kind = \(kind)"
        case .alias(nil, let value): "\(sql: aliases) AND s.value = \(value)"
        case .fingerprint(let prefix): "\(sql: holders) AND \(sql: Self.begins("v.token_digest", prefix))"
        case .installation(let prefix):
            """
            \(sql: activities) AND s.ended_at IS NULL AND s.installation_hash IS NOT NULL
                AND \(sql: Self.begins("s.installation_hash", prefix))
            """
        case .running:
            """
            \(sql: activities) AND s.ended_at IS NULL AND s.expiry_recorded_at IS NULL AND s.expires_at > now()
            ORDER BY s.expires_at DESC
            """
        case .over: "\(sql: activities) AND \(unescaped: Self.isOver) ORDER BY s.expires_at DESC"
        }
    }

    private var activities: SQL {
        """
        SELECT s.activity_key, \(unescaped: Self.isOver) AS ended FROM activities s
        WHERE \(sql: scope.contains("s"))
        """
    }

    private var aliases: SQL {
        """
        SELECT s.activity_key, s.ended FROM activity_aliases s WHERE \(sql: scope.contains("s"))
        """
    }

    private var holders: SQL {
        """
        SELECT s.activity_key, \(unescaped: Self.isOver) AS ended FROM token_values v
        CROSS JOIN LATERAL (
            SELECT * FROM activities own WHERE \(sql: scope.contains("own"))
                AND own.activity_id = v.activity_id LIMIT 1
        ) AS s
        WHERE \(sql: scope.contains("v"))
        """
    }

    /// A digest begins with some bytes; digests have 32 of them.
    private static func begins(_ column: String, _ prefix: [UInt8]) -> SQL {
        let last = prefix + [UInt8](repeating: 0xFF, count: max(0, 32 - prefix.count))
        return "\(unescaped: column) >= \(prefix) AND \(unescaped: column) <= \(last)"
    }

    /// Installations whose hash, or one of whose tokens' digests, has this prefix.
    func installations(_ prefix: [UInt8]) -> SQL {
        """
        (SELECT i.installation_hash FROM installations i
        WHERE \(sql: scope.contains("i")) AND \(sql: Self.begins("i.installation_hash", prefix)) LIMIT \(limit))
        UNION
        (SELECT r.installation_hash FROM installation_tokens r
        WHERE \(sql: scope.contains("r")) AND NOT r.has_one_owner AND \(sql: Self.begins("r.token_digest", prefix))
        LIMIT \(limit))
        UNION
        (SELECT v.installation_hash FROM token_values v
        WHERE \(sql: scope.contains("v")) AND v.installation_hash IS NOT NULL AND \(sql: Self.begins("v.token_digest", prefix))
        LIMIT \(limit))
        LIMIT \(limit)
        """
    }

    func installations(under alias: Alias) -> SQL {
        """
        SELECT al.installation_hash FROM installation_aliases al
        WHERE \(sql: scope.contains("al")) AND al.kind = \(alias.kind) AND al.value = \(alias.value) LIMIT \(limit)
        """
    }
}
