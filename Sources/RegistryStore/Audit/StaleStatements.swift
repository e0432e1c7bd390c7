import Foundation
import PostgresDriver
import RegistryCore

/// The statements that look for tokens of one kind that look dead.
///
/// The confirmation time has no index: it would make every refresh expensive. So tokens are read in ranges of their
/// immutable numbers, as many per call as time allows. Quarantined tokens have an index and are found at once.
struct StaleStatements {
    let kind: TokenKind
    let filter: StaleFilter
    let scope: Scope

    private var isOfActivities: Bool { kind.holder == .activity }
    private var reasons: Set<StaleReason> { filter.reasons(of: kind) }
    private var staleAge: Duration { filter.staleAge(with: kind) }
    var numbered: NumberedRows { NumberedRows(kind: kind, scope: scope) }

    static let rangeSize = 50_000
    var isIndexed: Bool { reasons == [.quarantined] }
    func range(after position: Int64) -> SQL { numbered.range(after: position, size: Self.rangeSize) }

    func page(after position: Int64, through last: Int64, limit: Int) -> SQL {
        """
        SELECT \(StaleToken.columns(of: kind))
        FROM (
            SELECT r.*, \(sql: reasonList) AS reasons FROM \(sql: searched)
            WHERE \(sql: isStale) AND \(sql: isBetween(position, last)) ORDER BY r.number LIMIT \(limit)
        ) AS s
        LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE \(sql: scope.contains("its"))
            AND its.token_digest = s.token_digest LIMIT 1) AS t ON true
        ORDER BY s.number
        """
    }

    func counts(after position: Int64, through last: Int64) -> SQL {
        """
        SELECT \(sql: reasonList) AS reasons, count(*) FROM \(sql: searched)
        WHERE \(sql: isStale) AND \(sql: isBetween(position, last))
        GROUP BY 1
        """
    }

    private func isBetween(_ position: Int64, _ last: Int64) -> SQL {
        "r.number > 0 AND r.number > \(position) AND r.number <= \(last)"
    }

    /// The ones that are still stale: they may have changed before they were locked.
    func remaining(_ numbers: [Int64]) -> SQL {
        """
        SELECT r.number FROM unnest(\(numbers)) AS named (number) CROSS JOIN LATERAL (
            \(sql: rows) AND \(sql: numbered.contains("s")) AND s.\(unescaped: numbered.number) = named.number
            LIMIT 1
        ) AS r
        WHERE \(sql: isStale) ORDER BY 1
        """
    }

    /// Existing tokens `r`. With the index of quarantines, the few quarantined values lead, and each value's token is a
    /// lookup of its own, which `LIMIT` enforces.
    private var searched: SQL {
        guard isIndexed else { return "(\(sql: rows)) AS r" }
        let holder: SQL =
            isOfActivities
            ? "s.activity_id = t.activity_id"
            : kind.hasOneOwner ? "s.installation_hash = t.installation_hash" : "NOT s.has_one_owner"
        return """
            (SELECT * FROM token_values q
                WHERE \(sql: scope.contains("q")) AND q.quarantined_kind = \(kind.name) AND q.quarantined_at IS NOT NULL) AS t
            CROSS JOIN LATERAL (
                \(sql: rows) AND \(sql: scope.contains("s")) AND \(sql: holder)
                    AND s.token_digest = t.token_digest LIMIT \(SlotHolders.most)
            ) AS r
            """
    }

    /// Tokens, each with the reason why it is withheld.
    private var rows: SQL {
        let columns =
            isOfActivities
            ? """
            s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
            s.withheld
            """
            : """
            NULL::text AS activity_id, nullif(s.attributes_type, '') AS attributes_type, s.observed_at,
            NULL::timestamptz AS expires_at, NULL::timestamptz AS starts_at, s.withheld
            """
        return """
            SELECT s.scope_id, s.\(unescaped: numbered.number) AS number, s.installation_hash,
                s.token_digest, s.confirmed_at, \(unescaped: columns)
            FROM \(unescaped: numbered.table) s
            WHERE s.token IS NOT NULL AND \(sql: isOfActivities ? "true" : "s.kind = \(kind.name)")
            """
    }

    /// It would be handed out or is quarantined, is asked for, and has one of the reasons.
    private var isStale: SQL {
        let type: SQL = filter.attributesType.map { "r.attributes_type = \($0.rawValue)" } ?? "true"
        return """
            \(sql: scope.contains("r")) AND \(sql: type) AND \(sql: hasReason)
            AND (r.withheld = 'quarantined') IS NOT FALSE
            """
    }

    private var hasReason: SQL {
        isIndexed ? condition(.quarantined) : "\(sql: any(cheapCondition)) AND \(sql: any(condition))"
    }

    private func any(_ condition: (StaleReason) -> SQL) -> SQL {
        let conditions = StaleReason.allCases.filter(reasons.contains).map(condition)
        return "(\(sql: conditions.dropFirst().reduce(conditions[0]) { "\(sql: $0) OR \(sql: $1)" }))"
    }

    /// The condition or a weaker one, without the value of each token: quarantines are few, and their digests are
    /// collected once, as nothing here depends on the token.
    private func cheapCondition(_ reason: StaleReason) -> SQL {
        guard reason == .quarantined else { return condition(reason) }
        return """
            r.token_digest IN (SELECT q.token_digest FROM token_values q
                WHERE \(sql: scope.contains("q")) AND q.quarantined_kind = \(kind.name) AND q.quarantined_at IS NOT NULL)
            """
    }

    private func condition(_ reason: StaleReason) -> SQL {
        switch reason {
        // A token of an activity in the future needs no confirmation.
        case .unconfirmed: "greatest(r.confirmed_at, r.starts_at) <= now() - \(staleAge)"
        case .expired: "r.expires_at <= now()"
        case .quarantined: "r.withheld = 'quarantined'"
        }
    }

    private var reasonList: SQL {
        let entries = StaleReason.allCases.filter(reasons.contains).map { reason -> SQL in
            "CASE WHEN \(sql: condition(reason)) THEN '\(unescaped: reason.rawValue)' END"
        }
        return "array_remove(ARRAY[\(sql: entries.dropFirst().reduce(entries[0]) { "\(sql: $0), \(sql: $1)" })], NULL)"
    }
}

extension StaleToken {
    static func columns(of kind: TokenKind) -> Columns<StaleToken> {
        Columns(
            .constant(kind),
            .one("s.number"),
            Columns(.one("s.reasons"), as: { StaleReason.read($0) }),
            .one("substr(s.token_digest, 1, 4)"),
            .one("s.observed_at"),
            .one("s.confirmed_at"),
            .one("now()"),
            .one("s.activity_id"),
            .one("s.installation_hash"),
            .one("s.attributes_type"),
            .one("s.expires_at"),
            .one("t.quarantined_at"),
            .one("t.quarantine_reason"),
            as: StaleToken.init
        )
    }
}

extension StaleReason {
    static func read(_ words: [String]) -> [StaleReason] { words.compactMap(StaleReason.init(rawValue:)) }
}
