import Foundation
import PostgresDriver
import RegistryCore

/// The statements that say of what bears an alias why it is handed out or not.
///
/// Whether it is handed out is for the views to say, as for everyone; the reasons follow them line by line.
struct ExplainStatements {
    let alias: Alias
    let scope: Scope

    private var app: Int64 { scope.app.number }
    private var environment: String { scope.environment.rawValue }

    private func names(_ row: String, in environment: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app) AND \(unescaped: row).environment = \(environment)::apns_environment
            AND \(unescaped: row).kind = \(alias.kind) AND \(unescaped: row).value = \(alias.value)
        """
    }

    // MARK: Activities

    /// Each reason in the order in which it counts: its word, when it holds, and since when.
    private static let ofActivity: [(word: TokenVerdict, condition: String, since: String)] = [
        (.handedOut, "c.is_current", "a.token_observed_at"),
        (.ended, "a.ended_at IS NOT NULL", "a.ended_at"),
        (.loggedOut, "i.removed_at >= a.started_at", "i.removed_at"),
        (.expired, "a.expires_at <= now()", "a.expires_at"),
        (.dismissed, "i.full_state_at > a.last_observed_at", "i.full_state_at"),
        (.noToken, "a.token_digest IS NULL", "NULL"),
        (.takenOver, "t.activity_id <> a.activity_id", "t.observed_at"),
        (.kindConflict, "t.installation_hash IS NOT NULL", "t.installation_observed_at"),
        (.purged, "a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at", "t.purged_at"),
        (.unregistered, "a.token_claimed_at <= t.dead_at", "t.dead_at"),
        (.quarantined, "a.token_claimed_at <= t.quarantined_at", "t.quarantined_at"),
    ]

    /// `CASE` over reasons, and since when each holds.
    private static func columns(_ reasons: [(word: TokenVerdict, condition: String, since: String)]) -> SQL {
        let words = reasons.map { "WHEN \($0.condition) THEN '\($0.word.rawValue)'" }.joined(separator: " ")
        let times = reasons.map { "WHEN \($0.condition) THEN \($0.since)" }.joined(separator: " ")
        return "CASE \(unescaped: words) ELSE 'no-token' END, CASE \(unescaped: times) END::timestamptz"
    }

    /// A page of those that bear the alias, in the order of the alias's index: those that are not over first.
    func activities(after position: ExplainPosition, limit: Int) -> SQL {
        """
        \(sql: Self.activities(among: "activity_aliases"))
        WHERE \(sql: names("al", in: environment))
            AND (al.ended, al.activity_number) > (\(position.isClosed), \(position.number))
        ORDER BY al.ended, al.activity_number LIMIT \(limit)
        """
    }

    /// What is said of each of some activities `al`, which have an app's number, an activity's number, and whether it
    /// is over. The lookups are limited so that the planner joins no more than a page.
    static func activities(among source: SQL) -> SQL {
        """
        SELECT al.activity_number, al.ended, a.activity_id, \(sql: columns(ofActivity)),
            a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash,
            a.attributes_type, a.started_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at,
            a.expires_at, t.delivered_at
        FROM \(sql: source) al
        CROSS JOIN LATERAL (SELECT * FROM activities bearer
            WHERE bearer.app_number = al.app_number AND bearer.activity_number = al.activity_number LIMIT 1) AS a
        LEFT JOIN LATERAL (SELECT true AS is_current FROM current_activities cur
            WHERE cur.app_number = al.app_number AND cur.activity_number = al.activity_number LIMIT 1) AS c ON true
        LEFT JOIN LATERAL (SELECT * FROM installations of_it WHERE of_it.app_number = a.app_number
            AND of_it.environment = a.environment AND of_it.installation_hash = a.installation_hash LIMIT 1) AS i ON true
        LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = a.app_number
            AND its.environment = a.environment AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
        """
    }

    // MARK: Start and device tokens

    private static func ofToken(_ isShared: Bool) -> [(word: TokenVerdict, condition: String, since: String)] {
        let takenOver: [(word: TokenVerdict, condition: String, since: String)] =
            isShared ? [] : [(.takenOver, "t.installation_hash <> r.installation_hash", "t.installation_observed_at")]
        return [
            (.handedOut, "c.is_current", "r.observed_at"),
            (.purged, "r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at", "r.purged_at"),
            (.loggedOut, "r.observed_at <= i.removed_at", "i.removed_at"),
            (.deleted, "r.token IS NULL", "r.deleted_at"),
            (.kindConflict, "t.installation_kind <> r.kind", "t.installation_observed_at"),
        ] + takenOver + [
            (.unregistered, "r.claimed_at <= t.dead_at", "t.dead_at"),
            (.quarantined, "r.claimed_at <= t.quarantined_at", "t.quarantined_at"),
        ]
    }

    /// The tokens of the first installations that bear the alias.
    func tokens(installations limit: Int) -> SQL {
        let named: SQL = """
            (SELECT al.app_number, al.environment, al.installation_hash FROM installation_aliases al
            WHERE \(sql: names("al", in: environment)) ORDER BY al.installation_hash LIMIT \(limit)) AS named
            """
        return Self.tokens(among: named)
    }

    /// The tokens of one installation.
    static func tokens(of installation: InstallationHash, in scope: Scope) -> SQL {
        tokens(
            among: """
                (SELECT \(scope.app.number)::bigint AS app_number,
                    \(scope.environment.rawValue)::apns_environment AS environment,
                    \(installation.bytes)::bytea AS installation_hash) AS named
                """
        )
    }

    /// The tokens of some installations `named`.
    private static func tokens(among named: SQL) -> SQL {
        """
        \(sql: tokens(of: named, startTokens, "current_start_tokens", "attributes_type", isShared: true))
        UNION ALL
        \(sql: tokens(of: named, deviceTokens, "current_device_tokens", "kind", isShared: false))
        ORDER BY 2, 1, 3
        """
    }

    private static let startTokens = """
        SELECT s.*, 'start'::text AS kind, s.attributes_type AS type FROM start_tokens s
        """
    private static let deviceTokens = "SELECT s.*, NULL::text AS type FROM device_tokens s"

    private static func tokens(
        of installations: SQL,
        _ table: String,
        _ view: String,
        _ key: String,
        isShared: Bool
    ) -> SQL {
        """
        SELECT r.kind, r.installation_hash, r.type, \(sql: columns(ofToken(isShared))), t.quarantine_reason,
            substr(r.token_digest, 1, 4), r.observed_at, r.confirmed_at
        FROM \(sql: installations) CROSS JOIN LATERAL (\(unescaped: table) WHERE s.app_number = named.app_number
            AND s.environment = named.environment AND s.installation_hash = named.installation_hash OFFSET 0) AS r
        LEFT JOIN LATERAL (SELECT true AS is_current FROM \(unescaped: view) cur
            WHERE cur.app_number = r.app_number AND cur.environment = r.environment
                AND cur.installation_hash = r.installation_hash AND cur.\(unescaped: key) = r.\(unescaped: key)
            LIMIT 1) AS c ON true
        LEFT JOIN LATERAL (SELECT * FROM installations of_it WHERE of_it.app_number = r.app_number
            AND of_it.environment = r.environment AND of_it.installation_hash = r.installation_hash LIMIT 1) AS i ON true
        LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = r.app_number
            AND its.environment = r.environment AND its.token_digest = r.token_digest LIMIT 1) AS t ON true
        """
    }

    // MARK: Notes

    /// When the alias was erased last, null if never, and whether anything bears it here and in the other environment.
    var notes: SQL {
        """
        SELECT (SELECT x.erased_at FROM erasures x JOIN apps app ON app.app_number = x.app_number
                WHERE x.app_number = \(app) AND x.environment = \(environment)::apns_environment
                    AND x.erased_digest = \(unescaped: ErasureStatements.digest("given.name"))),
            \(sql: isKnown(in: environment)), \(sql: isKnown(in: scope.environment.other.rawValue))
        FROM (SELECT \(ErasureStatements.name(of: alias))::text AS name) AS given
        """
    }

    private func isKnown(in environment: String) -> SQL {
        """
        (EXISTS (SELECT FROM activity_aliases al WHERE \(sql: names("al", in: environment)))
            OR EXISTS (SELECT FROM installation_aliases al WHERE \(sql: names("al", in: environment))))
        """
    }
}

extension AliasExplanation.Activity {
    /// Reads the columns of ``ExplainStatements/activities(among:)``.
    init(_ row: PostgresRow) throws {
        guard let verdict = TokenVerdict(rawValue: try row.column(3, as: String.self)),
            let id = try? ActivityID(row.column(2, as: String.self))
        else { throw UnreadableRow(detail: "an activity's id or verdict is not one of ours") }
        var facts = TokenFacts(verdict: verdict, since: try row.column(4, as: Date?.self))
        facts.endReason = try row.column(5, as: String?.self)
        facts.quarantineReason = try row.column(6, as: String?.self)
        self.init(
            number: try row.column(0, as: Int64.self),
            isClosed: try row.column(1, as: Bool.self),
            activityID: id,
            state: verdict.state,
            facts: facts,
            startedAt: try row.column(10, as: Date.self),
            expiresAt: try row.column(13, as: Date.self)
        )
        fingerprint = try row.column(7, as: [UInt8]?.self)
        installation = try row.column(8, as: [UInt8]?.self).map(InstallationHash.init(bytes:))
        attributesType = try row.column(9, as: String?.self)
        observedAt = try row.column(11, as: Date?.self)
        confirmedAt = try row.column(12, as: Date?.self)
        deliveredAt = try row.column(14, as: Date?.self)
    }
}

extension TokenVerdict {
    /// The state of an activity of which this is said.
    fileprivate var state: ActivityState {
        switch self {
        case .ended, .loggedOut: .ended
        case .expired: .expired
        case .dismissed: .dismissed
        case .handedOut, .noToken, .takenOver, .kindConflict, .unregistered, .quarantined, .purged, .deleted: .active
        }
    }
}

extension AliasExplanation.Token {
    /// Reads the columns of ``ExplainStatements/tokens(installations:)``.
    init(_ row: PostgresRow) throws {
        guard let verdict = TokenVerdict(rawValue: try row.column(3, as: String.self)) else {
            throw UnreadableRow(detail: "a token's verdict is not one of ours")
        }
        var facts = TokenFacts(verdict: verdict, since: try row.column(4, as: Date?.self))
        facts.quarantineReason = try row.column(5, as: String?.self)
        self.init(
            kind: try row.column(0, as: String.self),
            installation: InstallationHash(bytes: try row.column(1, as: [UInt8].self)),
            attributesType: try row.column(2, as: String?.self),
            facts: facts
        )
        fingerprint = try row.column(6, as: [UInt8]?.self)
        observedAt = try row.column(7, as: Date?.self)
        confirmedAt = try row.column(8, as: Date?.self)
    }
}
