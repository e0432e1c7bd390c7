import Foundation
import PostgresDriver
import RegistryCore

/// The statements that look for tokens of one kind that look dead.
///
/// When a token was confirmed stands in no index: one would cost every refresh dear. So tokens are looked through in
/// stretches of their immutable numbers, of which a call does as many as it has time for. Quarantined ones have an
/// index, and are found at once.
struct StaleStatements {
    let kind: TokenKind
    let filter: StaleFilter
    let scope: Scope

    private var app: Int64 { scope.app.number }
    private var isOfActivities: Bool { kind.holder == .activity }
    private var isStart: Bool { kind.holder == .attributesType }
    private var reasons: Set<StaleReason> { filter.reasons(of: kind) }
    private var patience: Duration { filter.patience(with: kind) }

    /// The table that holds the tokens, and the column of its immutable numbers.
    var table: String { isOfActivities ? "activities" : isStart ? "start_tokens" : "device_tokens" }
    private var number: String { isOfActivities ? "activity_number" : "token_number" }

    /// How many tokens a stretch has: to see whether an installation flaps costs two lookups a token.
    var stretchSize: Int { reasons.contains(.flapping) ? 10_000 : 50_000 }

    /// Whether there is no need for stretches.
    var isIndexed: Bool { reasons == [.quarantined] }

    private func inScope(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app) AND \(unescaped: row).environment = \(scope.environment.rawValue)::apns_environment
        """
    }

    /// The upper end of the next stretch, and how many tokens it has.
    func stretch(after position: Int64) -> SQL {
        """
        SELECT max(s.number), count(*) FROM (
            SELECT r.\(unescaped: number) AS number FROM \(unescaped: table) r
            WHERE r.app_number = \(app) AND r.\(unescaped: number) > \(position)
            ORDER BY r.\(unescaped: number) LIMIT \(stretchSize)
        ) AS s
        """
    }

    // MARK: What is stale

    /// The stale ones of a stretch, in the order of their numbers.
    func page(after position: Int64, through last: Int64, limit: Int) -> SQL {
        """
        SELECT \(sql: columns) FROM \(sql: searched)
        WHERE \(sql: isStale) AND r.number > \(position) AND r.number <= \(last)
        ORDER BY r.number LIMIT \(limit)
        """
    }

    /// How many of a stretch are stale, by their reasons.
    func counts(after position: Int64, through last: Int64) -> SQL {
        """
        SELECT \(sql: reasonList) AS reasons, count(*) FROM \(sql: searched)
        WHERE \(sql: isStale) AND r.number > \(position) AND r.number <= \(last)
        GROUP BY 1
        """
    }

    /// Those of some that are stale still: what was locked since may have changed before.
    func remaining(_ numbers: [Int64]) -> SQL {
        "SELECT r.number FROM \(sql: source) WHERE \(sql: isStale) AND r.number = ANY(\(numbers)) ORDER BY 1"
    }

    private var columns: SQL {
        """
        r.number, \(sql: reasonList), substr(r.token_digest, 1, 4), r.observed_at, r.confirmed_at, now(),
            r.activity_id, r.installation_hash, r.attributes_type, r.expires_at, t.quarantined_at, t.quarantine_reason
        """
    }

    /// Tokens `r` that there are, with their installation `i` and value `t`.
    private var source: SQL {
        """
        (\(sql: rows)) AS r \(sql: installation)
        LEFT JOIN LATERAL (SELECT * FROM token_values t WHERE \(sql: isItsValue) LIMIT 1) AS t ON true
        """
    }

    /// The same; where the index of quarantines is asked, values lead the way. Tokens are then looked up by what their
    /// values say (`OFFSET` has the planner do so), for all tokens are many times as many as those.
    private var searched: SQL {
        guard isIndexed else { return source }
        let holder: SQL =
            isOfActivities
            ? "s.activity_id = t.activity_id" : isStart ? "true" : "s.installation_hash = t.installation_hash"
        return """
            (SELECT * FROM token_values q
                WHERE \(sql: inScope("q")) AND q.quarantined_kind = \(kind.name) AND q.quarantined_at IS NOT NULL) AS t
            CROSS JOIN LATERAL (
                \(sql: rows) AND s.app_number = t.app_number AND s.environment = t.environment AND \(sql: holder)
                    AND s.token_digest = t.token_digest OFFSET 0
            ) AS r \(sql: installation)
            """
    }

    private var rows: SQL {
        guard !isOfActivities else {
            return """
                SELECT s.app_number, s.environment, s.activity_number AS number, s.activity_id, s.installation_hash,
                    s.attributes_type, s.token_digest, s.token_observed_at AS observed_at,
                    s.token_claimed_at AS claimed_at, s.confirmed_at, s.expires_at
                FROM activities s WHERE s.ended_at IS NULL AND s.token IS NOT NULL
                """
        }
        let type = isStart ? "s.attributes_type" : "NULL::text"
        return """
            SELECT s.app_number, s.environment, s.token_number AS number, NULL::text AS activity_id,
                s.installation_hash, \(unescaped: type) AS attributes_type, s.token_digest, s.observed_at, s.claimed_at,
                s.confirmed_at, NULL::timestamptz AS expires_at, s.deleted_at
            FROM \(unescaped: table) s
            WHERE s.token IS NOT NULL AND \(sql: isStart ? "true" : "s.kind = \(kind.name)")
            """
    }

    private var installation: SQL {
        guard !isOfActivities else { return "" }
        return """
            LEFT JOIN LATERAL (SELECT * FROM installations of_it WHERE of_it.app_number = r.app_number
                AND of_it.environment = r.environment AND of_it.installation_hash = r.installation_hash LIMIT 1) AS i ON true
            """
    }

    private let isItsValue: SQL = """
        t.app_number = r.app_number AND t.environment = r.environment AND t.token_digest = r.token_digest
        """

    // MARK: Conditions

    /// It would be handed out or is quarantined, is asked for, and has one of the reasons.
    private var isStale: SQL {
        let type: SQL = filter.attributesType.map { "r.attributes_type = \($0.rawValue)" } ?? "true"
        return """
            \(sql: inScope("r")) AND \(sql: type) AND \(sql: hasReason) AND \(sql: isHeld)
            AND r.claimed_at > coalesce(t.dead_at, '-infinity')
            """
    }

    private var isHeld: SQL {
        if isOfActivities { return "t.activity_id = r.activity_id AND t.installation_hash IS NULL" }
        let isThere: SQL = "r.observed_at > greatest(r.deleted_at, i.removed_at, '-infinity')"
        return isStart
            ? "\(sql: isThere) AND t.installation_hash IS NULL"
            : "\(sql: isThere) AND t.installation_hash = r.installation_hash AND t.installation_kind = \(kind.name)"
    }

    private var hasReason: SQL {
        guard !isIndexed else { return "\(sql: condition(.quarantined)) AND t.quarantined_kind = \(kind.name)" }
        return "\(sql: any(cheapCondition)) AND \(sql: any(condition))"
    }

    /// One of the reasons holds.
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
                WHERE \(sql: inScope("q")) AND q.quarantined_kind = \(kind.name) AND q.quarantined_at IS NOT NULL)
            """
    }

    private func condition(_ reason: StaleReason) -> SQL {
        switch reason {
        case .unconfirmed: "r.confirmed_at <= now() - \(patience)"
        case .expired: "r.expires_at <= now()"
        case .quarantined: "r.claimed_at <= t.quarantined_at"
        case .flapping: "\(unescaped: InstallationStatements.isFlapping("i"))"
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
    /// Reads the columns of ``StaleStatements/page(after:through:limit:)``.
    init(_ row: PostgresRow, kind: TokenKind) throws {
        self.init(
            kind: kind,
            number: try row.column(0, as: Int64.self),
            reasons: try StaleReason.read(row.column(1, as: [String].self)),
            fingerprint: try row.column(2, as: [UInt8].self),
            observedAt: try row.column(3, as: Date.self),
            confirmedAt: try row.column(4, as: Date.self),
            now: try row.column(5, as: Date.self)
        )
        activityID = try row.column(6, as: String?.self)
        installation = try row.column(7, as: [UInt8]?.self).map(InstallationHash.init(bytes:))
        attributesType = try row.column(8, as: String?.self)
        expiresAt = try row.column(9, as: Date?.self)
        quarantinedAt = try row.column(10, as: Date?.self)
        quarantineReason = try row.column(11, as: String?.self)
    }
}

extension StaleReason {
    /// Reads what the statements write.
    static func read(_ words: [String]) -> [StaleReason] { words.compactMap(StaleReason.init(rawValue:)) }
}
