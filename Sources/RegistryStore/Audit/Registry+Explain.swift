import Foundation
import PostgresDriver
import RegistryCore

package struct ExplainPosition: Sendable, Hashable {
    /// Closed activities come after the others.
    package let isClosed: Bool
    /// The internal key of the page's last activity; 0 before the first page.
    package let key: Int64

    package init(isClosed: Bool, key: Int64) {
        self.isClosed = isClosed
        self.key = key
    }

    package static let start = ExplainPosition(isClosed: false, key: 0)
}

extension Registry {
    private static let explainedInstallations = 50

    /// Notes, tokens of installations and leases are on the first page.
    package func explain(
        _ alias: Alias,
        after position: ExplainPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> AliasExplanation {
        let statements = ExplainStatements(alias: alias, scope: scope)
        let isFirst = position == .start
        return try await read { session in
            let page = statements.activities(after: position, limit: limit)
            let leases = ExplainedLeaseStatements(scope: scope).leases(of: alias, limit: Self.explainedInstallations)
            let rest = [
                statements.tokens(installations: Self.explainedInstallations), statements.notes,
                statements.isKnownElsewhere, leases,
            ]
            let results = try session.pipeline([page] + (isFirst ? rest : []))
            var explanation = AliasExplanation(alias: alias)
            explanation.activities = try results[0].decode(AliasExplanation.Activity.columns)
            guard isFirst else { return explanation }
            explanation.tokens = try results[1].decode(AliasExplanation.Token.columns)
            explanation.notes = try Self.notes(results[2][0], results[3][0], scope.environment)
            explanation.leases = try results[4].decode(ExplainedLease.columns)
            return explanation
        }
    }

    package func explainTokens(
        of installation: InstallationHash,
        in scope: Scope
    ) async throws -> [AliasExplanation.Token] {
        let statement = ExplainStatements.tokens(of: installation, in: scope)
        return try await read { try $0.execute(statement).decode(AliasExplanation.Token.columns) }
    }

    private static func notes(
        _ here: PostgresRow,
        _ elsewhere: PostgresRow,
        _ environment: APNSEnvironment
    ) throws -> [AliasExplanation.Note] {
        let (erasedAt, isKnown) = try here.decode(Date?.self, Bool.self)
        let isKnownElsewhere = try elsewhere.decode(Bool.self)
        var notes: [AliasExplanation.Note] = erasedAt.map { [.erased($0)] } ?? []
        if !isKnown { notes.append(isKnownElsewhere ? .knownElsewhere(environment.other) : .unknown) }
        return notes
    }
}

/// The reasons come from the views of explained activities and tokens; these statements add the times since which they hold.
struct ExplainStatements {
    let alias: Alias
    let scope: Scope

    private func names(_ row: String, in scope: Scope) -> SQL {
        """
        \(sql: scope.contains(row))
            AND \(unescaped: row).kind = \(alias.kind) AND \(unescaped: row).value = \(alias.value)
        """
    }

    /// A page of those that bear the alias, in the order of the alias's index: those that are not over first.
    func activities(after position: ExplainPosition, limit: Int) -> SQL {
        """
        \(sql: Self.activities(among: "activity_aliases", in: scope))
        WHERE \(sql: names("al", in: scope))
            AND (al.ended, al.activity_key) > (\(position.isClosed), \(position.key))
        ORDER BY al.ended, al.activity_key LIMIT \(limit)
        """
    }

    /// The explanations of activities, whose rows `al` have an activity's key, and whether it is over. The limit of the
    /// lookups keeps the planner from joining more than a page.
    ///
    /// - Parameter columns: of the rows `al`, of the explained activities `a`, and of their tokens' values
    ///   `t`.
    static func activities<Value>(
        _ columns: Columns<Value> = AliasExplanation.Activity.columns,
        among source: SQL,
        in scope: Scope
    ) -> SQL {
        """
        SELECT \(columns)
        FROM \(sql: source) al
        CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
            WHERE \(sql: scope.contains("bearer")) AND bearer.activity_key = al.activity_key
                AND bearer.activity_key > 0 LIMIT 1) AS a
        LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE \(sql: scope.contains("its"))
            AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
        """
    }

    func tokens(installations limit: Int) -> SQL {
        let named: SQL = """
            (SELECT al.installation_hash FROM installation_aliases al
            WHERE \(sql: names("al", in: scope)) ORDER BY al.installation_hash LIMIT \(limit)) AS named
            """
        return Self.tokens(among: named, in: scope)
    }

    static func tokens(of installation: InstallationHash, in scope: Scope) -> SQL {
        tokens(among: "(SELECT \(installation.bytes)::bytea AS installation_hash) AS named", in: scope)
    }

    private static func tokens(among named: SQL, in scope: Scope) -> SQL {
        """
        SELECT \(AliasExplanation.Token.columns)
        FROM \(sql: named) CROSS JOIN LATERAL (SELECT * FROM explained_installation_tokens its
            WHERE \(sql: scope.contains("its")) AND its.installation_hash = named.installation_hash OFFSET 0) AS r
        LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE \(sql: scope.contains("its"))
            AND its.token_digest = r.token_digest LIMIT 1) AS t ON true
        ORDER BY r.installation_hash, r.kind, r.attributes_type
        """
    }

    /// When the alias was erased last, null if never, and whether anything has it.
    var notes: SQL {
        """
        SELECT (SELECT x.erased_at FROM erasures x
                WHERE \(sql: scope.contains("x"))
                    -- Of the app's salt first: joined, all erasures would be compared with it.
                    AND x.erased_digest = (
                        SELECT \(unescaped: ErasureStatements.digest("given.name"))
                        FROM apps app CROSS JOIN (SELECT \(ErasureStatements.name(of: alias))::text AS name) AS given
                        WHERE app.app_id = \(scope.app.id)
                    )),
            \(sql: isKnown(in: scope))
        """
    }

    /// A statement of its own: on Citus the other environment's rows may be on another node.
    var isKnownElsewhere: SQL { "SELECT \(sql: isKnown(in: scope.other))" }

    private func isKnown(in scope: Scope) -> SQL {
        """
        (EXISTS (SELECT FROM activity_aliases al WHERE \(sql: names("al", in: scope)))
            OR EXISTS (SELECT FROM installation_aliases al WHERE \(sql: names("al", in: scope))))
        """
    }
}

extension AliasExplanation.Activity {
    static let columns = Columns(
        .one("al.activity_key"),
        .one("al.ended"),
        .one("a.activity_id"),
        .raw("a.state"),
        facts,
        .one("substr(a.token_digest, 1, 4)"),
        .one("a.installation_hash"),
        .one("a.attributes_type"),
        .one("a.started_at"),
        .one("a.starts_at"),
        .one("coalesce(a.token_observed_at, a.last_observed_at)"),
        .one("a.confirmed_at"),
        .one("a.expires_at"),
        .one("t.delivered_at"),
        as: AliasExplanation.Activity.init
    )

    private static let facts = Columns(
        .raw("coalesce(a.reason, 'handed-out')"),
        .one(
            """
            CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
                WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
                WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
                WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
                WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END
            """
        ),
        .one("a.end_reason::text"),
        .one("t.quarantine_reason"),
        as: TokenFacts.init
    )
}

extension AliasExplanation.Token {
    static let columns = Columns(
        .one("r.kind"),
        .one("r.installation_hash"),
        .one("nullif(r.attributes_type, '')"),
        facts,
        .one("substr(r.token_digest, 1, 4)"),
        .one("r.observed_at"),
        .one("r.confirmed_at"),
        as: AliasExplanation.Token.init
    )

    private static let facts = Columns(
        .raw("coalesce(r.reason, 'handed-out')"),
        .one(
            """
            CASE r.reason WHEN 'purged' THEN CASE WHEN r.token IS NULL THEN r.purged_at ELSE t.purged_at END WHEN 'logged-out' THEN r.removed_at
                WHEN 'deleted' THEN r.deleted_at WHEN 'kind-conflict' THEN t.installation_observed_at
                WHEN 'taken-over' THEN t.installation_observed_at WHEN 'unregistered' THEN t.dead_at
                WHEN 'quarantined' THEN t.quarantined_at ELSE r.observed_at END
            """
        ),
        .one("t.quarantine_reason"),
        as: { TokenFacts(verdict: $0, since: $1, quarantineReason: $2) }
    )
}
