import Foundation
import PostgresDriver
import RegistryCore

package struct ActivityLife: Sendable {
    package struct RetiredToken: Sendable, Hashable {
        package let fingerprint: [UInt8]
        /// The device's clock when the system delivered the token, or the time of receipt if the request has no time.
        package let observedAt: Date
        package let reason: String
    }

    package let explanation: AliasExplanation.Activity
    package let subject: UTF8Text?
    /// The stored JSON: `{"kind": ["value", …]}`.
    package let aliases: [UInt8]?
    package let metadata: [UInt8]?
    package let facts: ActivityFacts
    /// Counts changes that senders can see, from 1.
    package let revision: Int64
    package let createdAt: Date
    /// Includes full states; nil if only an end is known.
    package let lastObservedAt: Date?
    /// Nil if no request ended it, although its installation may have logged out.
    package let endedAt: Date?
    /// The time from which APNs reported its token dead, or at which an admin purged it.
    package let deadAt: Date?
    package let fullStateAt: Date?
    package let loggedOutAt: Date?
    package internal(set) var retired: [RetiredToken] = []
    package internal(set) var events: [AuditEvent] = []
    package internal(set) var hasMoreEvents = false

    fileprivate init(_ explanation: AliasExplanation.Activity, row: NamedRow) throws {
        self.explanation = explanation
        subject = try row["subject"]
        aliases = (try row["aliases"] as JSONB?)?.bytes
        metadata = (try row["metadata"] as JSONB?)?.bytes
        facts = try ActivityFacts(row: row)
        revision = try row["revision"]
        createdAt = try row["created_at"]
        lastObservedAt = try row["last_observed_at"]
        endedAt = try row["ended_at"]
        deadAt = try row["dead_at"]
        fullStateAt = try row["full_state_at"]
        loggedOutAt = try row["removed_at"]
    }
}

extension Registry {
    package func life(of id: ActivityID, events limit: Int, in scope: Scope) async throws -> ActivityLife? {
        let key: QueryValues = ["scope": scope.id, "id": id]
        let found = try await read { session in
            let results = try session.pipeline([
                ActivitySearch.id(id.rawValue).query(limit: 1, in: scope), Query("audit.read-activity")(key),
                // The search ends after so many former tokens, so the tokens shown may not be the latest.
                Query("audit.read-former-tokens")(key + ["most_searched": 10_000, "limit": 100]),
            ])
            let explanation = try results[0].decode(AliasExplanation.Activity.self).first
            var life = try explanation.flatMap { explanation in
                try results[1].decode { try ActivityLife(explanation, row: $0) }.first
            }
            life?.retired = try results[2].decode {
                .init(fingerprint: try $0["fingerprint"], observedAt: try $0["observed_at"], reason: try $0["reason"])
            }
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
