import PostgresDriver
import RegistryCore

/// The statements of an export: pages by immutable keys, each row as it is at that moment.
struct ExportStatements {
    let scope: Scope

    /// Rows that are looked at in one page; few enough for a page of the largest rows to be a few megabytes.
    static let pageSize = 1000

    private var app: Int64 { scope.app.number }

    private func inScope(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app) AND \(unescaped: row).environment = \(scope.environment.rawValue)::apns_environment
        """
    }

    private func table(of part: ExportPart) -> String {
        switch part {
        case .activities: "activities"
        case .startTokens: "start_tokens"
        case .deviceTokens: "device_tokens"
        case .names: "alias_identities"
        case .installations: "installations"
        }
    }

    private func number(of part: ExportPart) -> String { part == .activities ? "activity_number" : "token_number" }

    /// The last number of the next page, how many rows it looks at, and the first and last number of all.
    ///
    /// Rows of the other environment are looked at, too: the index of numbers does not know them.
    func stretch(of part: ExportPart, after position: Int64) -> SQL {
        let (table, number) = (table(of: part), number(of: part))
        return """
            SELECT max(s.number), count(*),
                (SELECT min(r.\(unescaped: number)) FROM \(unescaped: table) r WHERE r.app_number = \(app)),
                (SELECT max(r.\(unescaped: number)) FROM \(unescaped: table) r WHERE r.app_number = \(app))
            FROM (
                SELECT r.\(unescaped: number) AS number FROM \(unescaped: table) r
                WHERE r.app_number = \(app) AND r.\(unescaped: number) > \(position)
                ORDER BY r.\(unescaped: number) LIMIT \(Self.pageSize)
            ) AS s
            """
    }

    /// The rows of a page of activities, start tokens or device tokens.
    func rows(of part: ExportPart, after position: Int64, through last: Int64) -> SQL {
        let number = number(of: part)
        let selection: SQL =
            switch part {
            case .activities: "\(sql: Self.activityColumns) FROM \(sql: Self.activities)"
            case .startTokens: Self.tokens("start_tokens", "current_start_tokens", key: "attributes_type")
            default: Self.tokens("device_tokens", "current_device_tokens", key: "kind")
            }
        return """
            SELECT \(sql: selection)
            WHERE \(sql: inScope("r")) AND r.\(unescaped: number) > \(position) AND r.\(unescaped: number) <= \(last)
            ORDER BY r.\(unescaped: number)
            """
    }

    /// Tokens, each looked up by itself: joined as a whole, the planner would read all installations for a page.
    private static func tokens(_ table: String, _ view: String, key: String) -> SQL {
        """
        c.installation_hash, c.\(unescaped: key), c.token, c.observed_at FROM \(unescaped: table) r CROSS JOIN LATERAL (
            SELECT cur.* FROM \(unescaped: view) cur
            WHERE cur.app_number = r.app_number AND cur.environment = r.environment
                AND cur.token_number = r.token_number
            OFFSET 0
        ) AS c
        """
    }

    private static let activityColumns: SQL = """
        r.activity_id, \(unescaped: MergedActivity.stateColumns("r")), c.token, r.token_observed_at, r.started_at,
            n.alias, r.installation_hash, r.installation_observed_at, r.subject, r.subject_observed_at,
            r.attributes_type, r.attributes_type_observed_at,
            r.frequent_pushes_enabled, r.frequent_pushes_enabled_observed_at,
            r.aliases, r.aliases_observed_at, r.metadata, r.metadata_observed_at, coalesce(n.ended_at >= r.ended_at, false)
        """

    /// Activities, each with what is handed out of it and the identity that it was made for.
    private static let activities: SQL = """
        activities r
        LEFT JOIN LATERAL (
            SELECT cur.token FROM current_activities cur
            WHERE cur.app_number = r.app_number AND cur.activity_number = r.activity_number LIMIT 1
        ) AS c ON true
        LEFT JOIN LATERAL (
            SELECT i.alias, i.ended_at FROM jsonb_array_elements_text(r.aliases -> '\(unescaped: Alias.liveActivityKind)') AS name
            JOIN alias_identities i ON i.app_number = r.app_number AND i.environment = r.environment
                AND i.alias = name AND i.owner = CASE
                    WHEN r.installation_hash IS NOT NULL THEN 'installation:' || encode(r.installation_hash, 'hex')
                    WHEN r.subject IS NOT NULL THEN 'subject:' || r.subject ELSE 'app' END
            WHERE i.activity_id = r.activity_id LIMIT 1
        ) AS n ON true
        """

    /// A page of installations, by their hashes.
    func installations(after hash: [UInt8]) -> SQL {
        """
        SELECT r.installation_hash, r.removed_at, r.subject, r.subject_observed_at, r.aliases, r.aliases_observed_at,
            r.metadata, r.metadata_observed_at
        FROM installations r WHERE \(sql: inScope("r")) AND r.installation_hash > \(hash)
        ORDER BY r.installation_hash LIMIT \(Self.pageSize)
        """
    }

    /// A page of identities, by name and owner, each with its latest end.
    func names(after alias: String, _ owner: String) -> SQL {
        """
        SELECT r.alias, r.owner, r.ended_at FROM alias_identities r
        WHERE \(sql: inScope("r")) AND (r.alias, r.owner) > (\(alias), \(owner))
        ORDER BY r.alias, r.owner LIMIT \(Self.pageSize)
        """
    }
}
