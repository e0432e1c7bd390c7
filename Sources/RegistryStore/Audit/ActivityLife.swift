import Foundation
import PostgresDriver
import RegistryCore

/// The stored facts about one activity; tokens appear as fingerprints.
package struct ActivityLife: Sendable {
    package struct RetiredToken: Sendable, Hashable {
        /// The first 4 bytes of the token's SHA-256.
        package let fingerprint: [UInt8]
        /// The device's clock when the system gave it the token; the time of receipt when the request did not say.
        package let observedAt: Date
        /// Such as `rotated`.
        package let reason: String
    }

    package let explanation: AliasExplanation.Activity
    /// The `sub` of the signed-in user who registered it first; nil when none did.
    package let subject: UTF8Text?
    /// JSON as it was stored: `{"kind": ["value", …]}`.
    package let aliases: [UInt8]?
    package let metadata: [UInt8]?
    package let facts: ActivityFacts
    /// Counts the changes visible to senders, from 1.
    package let revision: Int64
    package let createdAt: Date
    /// The latest observation of it, full states included; nil when only an end is known.
    package let lastObservedAt: Date?
    /// Nil if no request ended it, though its installation may have logged out.
    package let endedAt: Date?
    /// As of when APNs said that its token is dead, or an admin purged it.
    package let deadAt: Date?
    /// APNs's reason in the report by which its token was quarantined, such as `BadDeviceToken`.
    package let quarantineReason: String?
    /// The last full state of its installation or its last log-out.
    package let fullStateAt: Date?
    package let loggedOutAt: Date?
    /// The latest first.
    package internal(set) var retired: [RetiredToken] = []
    /// The newest first.
    package internal(set) var events: [AuditEvent] = []
    package internal(set) var hasMoreEvents = false

    /// The columns of an explained activity `a`, of its token's value `t` and of its installation `i`.
    static let columns = Columns(
        AliasExplanation.Activity.columns,
        .one("a.subject"),
        .json("a.aliases"),
        .json("a.metadata"),
        ActivityFacts.columns(of: "a"),
        .one("a.revision"),
        .one("a.created_at"),
        .one("a.last_observed_at"),
        .one("a.ended_at"),
        .one("t.dead_at"),
        .one("t.quarantine_reason"),
        .one("i.full_state_at"),
        .one("i.removed_at"),
        .constant([]),
        .constant([]),
        .constant(false),
        as: ActivityLife.init
    )
}

extension Registry {
    /// Nil if the activity is not known.
    ///
    /// - Parameter limit: the number of its events.
    package func life(of id: ActivityID, events limit: Int, in scope: Scope) async throws -> ActivityLife? {
        let statements = ActivityLifeStatements(id: id, scope: scope)
        let found = try await read { session in
            let results = try session.pipeline([statements.life, statements.retired])
            var life = try results[0].decode(ActivityLife.columns).first
            life?.retired = try results[1].decode([UInt8].self, Date.self, String.self)
                .map(ActivityLife.RetiredToken.init)
            return life
        }
        guard var life = found else { return nil }
        var filter = EventFilter()
        filter.activityID = id
        let page = try await events(filter, limit: limit, in: scope)
        life.events = page.items
        life.hasMoreEvents = page.next != nil
        return life
    }
}

struct ActivityLifeStatements {
    let id: ActivityID
    let scope: Scope

    /// Bounds the number of earlier tokens read and shown: of an activity with more, those shown need not be the
    /// latest.
    static let mostRetired = 100
    private static let mostSearched = 10_000

    private func matches(_ row: String) -> SQL {
        """
        \(unescaped: row).activity_id = \(id.rawValue) AND \(sql: scope.contains(row))
        """
    }

    var life: SQL {
        let candidates = SearchStatements(scope: scope, limit: 1).candidates(.id(id.rawValue))
        return """
            \(sql: ExplainStatements.activities(ActivityLife.columns, among: "(\(sql: candidates) LIMIT 1)", in: scope))
            LEFT JOIN LATERAL (SELECT * FROM installations its WHERE \(sql: scope.contains("its"))
                AND its.installation_hash = a.installation_hash LIMIT 1) AS i ON true
            """
    }

    /// The activity's former tokens, latest first: replaced ones, and its last one if
    /// that is withheld for good. A token that it has again is left out.
    var retired: SQL {
        """
        SELECT substr(had.token_digest, 1, 4), had.observed_at, had.reason FROM (
            SELECT t.token_digest, t.observed_at, 'rotated' AS reason
            FROM activities a CROSS JOIN LATERAL (
                SELECT v.token_digest, v.observed_at FROM (
                    SELECT own.token_digest, own.observed_at FROM token_values own
                    WHERE \(sql: scope.contains("own")) AND own.activity_key = a.activity_key
                    LIMIT \(Self.mostSearched)
                ) AS v
                WHERE v.token_digest IS DISTINCT FROM a.token_digest
                ORDER BY v.observed_at DESC LIMIT \(Self.mostRetired)
            ) AS t
            WHERE \(sql: matches("a"))
            UNION ALL
            SELECT a.token_digest, a.token_observed_at, CASE
                WHEN a.ended_at IS NOT NULL THEN 'ended'
                WHEN a.expiry_recorded_at IS NOT NULL THEN 'expired'
                WHEN t.activity_id <> a.activity_id OR t.installation_hash IS NOT NULL THEN 'taken-over'
                WHEN t.dead_at >= a.token_claimed_at AND t.purged_at = t.dead_at THEN 'purged'
                WHEN t.dead_at >= a.token_claimed_at THEN 'unregistered'
            END
            FROM activities a JOIN token_values t ON \(sql: scope.contains("t")) AND t.token_digest = a.token_digest
            WHERE \(sql: matches("a"))
        ) AS had
        WHERE had.reason IS NOT NULL ORDER BY had.observed_at DESC LIMIT \(Self.mostRetired)
        """
    }
}
