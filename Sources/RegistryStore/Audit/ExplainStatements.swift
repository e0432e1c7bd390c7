import Foundation
import PostgresDriver
import RegistryCore

/// The statements that say of what bears an alias why it is handed out or not.
///
/// The reasons are those of the views of verdicts; here is added since when they hold.
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

    /// A page of those that bear the alias, in the order of the alias's index: those that are not over first.
    func activities(after position: ExplainPosition, limit: Int) -> SQL {
        """
        \(sql: Self.activities(among: "activity_aliases"))
        WHERE \(sql: names("al", in: environment))
            AND (al.ended, al.activity_number) > (\(position.isClosed), \(position.number))
        ORDER BY al.ended, al.activity_number LIMIT \(limit)
        """
    }

    /// The explanations of some activities, whose rows `al` have an app's number, an activity's number, and whether it
    /// is over. The lookups are limited so that the planner joins no more than a page.
    static func activities(among source: SQL) -> SQL {
        """
        SELECT al.activity_number, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'),
            CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
                WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
                WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
                WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
                WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END,
            a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash,
            a.attributes_type, a.started_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at,
            a.expires_at, t.delivered_at, a.starts_at
        FROM \(sql: source) al
        CROSS JOIN LATERAL (SELECT * FROM activity_verdicts bearer
            WHERE bearer.app_number = al.app_number AND bearer.activity_number = al.activity_number
                    AND bearer.activity_number > 0 LIMIT 1) AS a
        LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = a.app_number
            AND its.environment = a.environment AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
        """
    }

    // MARK: Start and device tokens

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
        SELECT r.kind, r.installation_hash, nullif(r.attributes_type, ''), coalesce(r.verdict, 'handed-out'),
            CASE r.verdict WHEN 'purged' THEN r.purged_at WHEN 'logged-out' THEN r.removed_at
                WHEN 'deleted' THEN r.deleted_at WHEN 'kind-conflict' THEN r.owned_at WHEN 'taken-over' THEN r.owned_at
                WHEN 'unregistered' THEN r.dead_at WHEN 'quarantined' THEN r.quarantined_at ELSE r.observed_at END,
            r.quarantine_reason, substr(r.token_digest, 1, 4), r.observed_at, r.confirmed_at
        FROM \(sql: named) CROSS JOIN LATERAL (SELECT * FROM installation_token_verdicts its
            WHERE its.app_number = named.app_number AND its.environment = named.environment
                AND its.installation_hash = named.installation_hash OFFSET 0) AS r
        ORDER BY r.installation_hash, r.kind, r.attributes_type
        """
    }

    // MARK: Notes

    /// When the alias was erased last, null if never, and whether anything bears it here and in the other environment.
    var notes: SQL {
        """
        SELECT (SELECT x.erased_at FROM erasures x
                WHERE \(sql: scope.contains("x"))
                    -- Of the app's salt first: joined, all erasures would be compared with it.
                    AND x.erased_digest = (
                        SELECT \(unescaped: ErasureStatements.digest("given.name"))
                        FROM apps app CROSS JOIN (SELECT \(ErasureStatements.name(of: alias))::text AS name) AS given
                        WHERE app.app_number = \(app)
                    )),
            \(sql: isKnown(in: environment)), \(sql: isKnown(in: scope.environment.other.rawValue))
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
        guard let state = ActivityState(rawValue: try row.column(3, as: String.self)) else {
            throw UnreadableRow(detail: "an activity's state is not one of ours")
        }
        let verdict = try TokenVerdict(stored: row.column(4, as: String.self))
        var facts = TokenFacts(verdict: verdict, since: try row.column(5, as: Date?.self))
        facts.endReason = try row.column(6, as: String?.self)
        facts.quarantineReason = try row.column(7, as: String?.self)
        self.init(
            number: try row.column(0, as: Int64.self),
            isClosed: try row.column(1, as: Bool.self),
            activityID: try row.column(2, as: ActivityID.self),
            state: state,
            facts: facts,
            startedAt: try row.column(11, as: Date.self),
            expiresAt: try row.column(14, as: Date.self)
        )
        fingerprint = try row.column(8, as: [UInt8]?.self)
        installation = try row.column(9, as: [UInt8]?.self).map(InstallationHash.init(bytes:))
        attributesType = try row.column(10, as: UTF8Text?.self)
        observedAt = try row.column(12, as: Date?.self)
        confirmedAt = try row.column(13, as: Date?.self)
        deliveredAt = try row.column(15, as: Date?.self)
        startsAt = try row.column(16, as: Date?.self)
    }
}

extension AliasExplanation.Token {
    /// Reads the columns of ``ExplainStatements/tokens(installations:)``.
    init(_ row: PostgresRow) throws {
        let verdict = try TokenVerdict(stored: row.column(3, as: String.self))
        var facts = TokenFacts(verdict: verdict, since: try row.column(4, as: Date?.self))
        facts.quarantineReason = try row.column(5, as: String?.self)
        self.init(
            kind: try row.column(0, as: String.self),
            installation: InstallationHash(bytes: try row.column(1, as: [UInt8].self)),
            attributesType: try row.column(2, as: UTF8Text?.self),
            facts: facts
        )
        fingerprint = try row.column(6, as: [UInt8]?.self)
        observedAt = try row.column(7, as: Date?.self)
        confirmedAt = try row.column(8, as: Date?.self)
    }
}
