import PostgresDriver
import RegistryCore

/// The statements that find activities and installations by what people know of them, each by an index.
struct SearchStatements {
    let scope: Scope
    /// How many rows one of them looks at.
    let limit: Int

    private func inScope(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(scope.app.number) \
        AND \(unescaped: row).environment = \(scope.environment.rawValue)::apns_environment
        """
    }

    private static let isOver = "(s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL)"

    /// What is found, with why it is handed out or not; what is not over comes first, and the newest of those.
    func activities(_ search: ActivitySearch) -> SQL {
        """
        \(sql: ExplainStatements.activities(among: "(\(sql: candidates(search)) LIMIT \(limit))"))
        ORDER BY al.ended, al.activity_number DESC
        """
    }

    private func candidates(_ search: ActivitySearch) -> SQL {
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
        SELECT s.app_number, s.activity_number, \(unescaped: Self.isOver) AS ended FROM activities s
        WHERE \(sql: inScope("s"))
        """
    }

    private var aliases: SQL {
        """
        SELECT s.app_number, s.activity_number, s.ended FROM activity_aliases s WHERE \(sql: inScope("s"))
        """
    }

    /// The activities that were the last to claim a value.
    private var holders: SQL {
        """
        SELECT s.app_number, s.activity_number, \(unescaped: Self.isOver) AS ended FROM token_values v
        JOIN activities s ON s.app_number = v.app_number AND s.environment = v.environment
            AND s.activity_id = v.activity_id
        WHERE \(sql: inScope("v"))
        """
    }

    /// A digest begins with some bytes; digests have 32 of them.
    private static func begins(_ column: String, _ prefix: [UInt8]) -> SQL {
        let last = prefix + [UInt8](repeating: 0xFF, count: max(0, 32 - prefix.count))
        return "\(unescaped: column) >= \(prefix) AND \(unescaped: column) <= \(last)"
    }

    /// Installations whose hash begins with some bytes, or that hold a token whose digest does.
    func installations(_ prefix: [UInt8]) -> SQL {
        """
        SELECT i.installation_hash FROM installations i
        WHERE \(sql: inScope("i")) AND \(sql: Self.begins("i.installation_hash", prefix))
        UNION
        SELECT s.installation_hash FROM start_tokens s
        WHERE \(sql: inScope("s")) AND s.token_digest IS NOT NULL AND \(sql: Self.begins("s.token_digest", prefix))
        UNION
        SELECT v.installation_hash FROM token_values v
        WHERE \(sql: inScope("v")) AND v.installation_hash IS NOT NULL AND \(sql: Self.begins("v.token_digest", prefix))
        LIMIT \(limit)
        """
    }

    /// Installations that bear an alias.
    func installations(under alias: Alias) -> SQL {
        """
        SELECT al.installation_hash FROM installation_aliases al
        WHERE \(sql: inScope("al")) AND al.kind = \(alias.kind) AND al.value = \(alias.value) LIMIT \(limit)
        """
    }
}
