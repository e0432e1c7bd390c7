import Foundation
import PostgresDriver
import RegistryCore

struct AliasIdentityStatements {
    let alias: UTF8Text
    let owner: ActivityOwner
    let scope: Scope

    private func identity(_ row: String) -> SQL {
        """
        \(sql: scope.contains(row)) AND \(unescaped: row).alias = \(alias) AND \(unescaped: row).owner = \(owner.stored)
        """
    }

    /// Creates the identity's row or locks it, which serializes all requests of one identity.
    ///
    /// - Parameter startsAt: its activity is not forgotten before.
    func lock(observedAt: Date?, startsAt: Date?) -> SQL {
        """
        INSERT INTO alias_identities AS stored (scope_id, alias, owner, touched_at)
        SELECT \(scope.id), \(alias), \(owner.stored), greatest(clock_timestamp(), \(startsAt))
        FROM apps app
        WHERE app.app_id = \(scope.app.id) AND coalesce(\(observedAt) <= now() + interval '5 minutes', true)
            AND NOT \(sql: isErased(observedAt))
        ON CONFLICT (scope_id, alias, owner) DO UPDATE SET touched_at = greatest(stored.touched_at, excluded.touched_at)
        RETURNING \(AliasIdentity.Row.columns)
        """
    }

    func refusalFacts(observedAt: Date?) -> SQL {
        Refusal.facts(
            ofApp: scope.app.id,
            erased: """
                ARRAY(SELECT 'identity' FROM apps app
                    WHERE app.app_id = \(scope.app.id) AND \(sql: isErased(observedAt)))
                """
        )
    }

    /// The alias or its owner was erased after the request was observed.
    private func isErased(_ observedAt: Date?) -> SQL {
        let names: [UTF8Text] = ["alias:\(Alias.liveActivityKind):\(alias)", owner.stored]
        return ErasureStatements.isErased(names, observedAt: observedAt, in: scope)
    }

    /// The clock after the lock was got, the token's digest, and whether the identity ever knew the token.
    func clock(token: PushToken?) -> SQL {
        """
        SELECT clock_timestamp(), coalesce(sha256(\(token?.bytes)), ''), EXISTS (
            SELECT FROM alias_registrations r WHERE \(sql: identity("r")) AND r.token_digest = sha256(\(token?.bytes))
        )
        """
    }

    /// A lookup of its own: joined, by a plan from a time with few rows, all activities of the app would be read.
    var activity: SQL {
        """
        SELECT \(AliasIdentity.activityColumns)
        FROM alias_identities i CROSS JOIN LATERAL (
            SELECT * FROM activities its WHERE \(sql: scope.contains("its"))
                AND its.activity_id = i.activity_id LIMIT 1
        ) AS stored LEFT JOIN LATERAL (
            SELECT * FROM installations own WHERE \(sql: scope.contains("own"))
                AND own.installation_hash = stored.installation_hash LIMIT 1
        ) AS its ON true
        WHERE \(sql: identity("i"))
        """
    }

    /// The kept registrations since the last end.
    var openRegistrations: SQL {
        """
        SELECT \(AliasIdentity.registrationColumns)
        FROM alias_registrations r JOIN alias_identities i ON \(sql: identity("i"))
        LEFT JOIN LATERAL (
            SELECT a.lifetime FROM activities a WHERE \(sql: scope.contains("a")) AND a.activity_id = r.activity_id LIMIT 1
        ) AS own ON true
        WHERE \(sql: identity("r")) AND (i.ended_at IS NULL OR r.observed_at > i.ended_at) AND r.token IS NOT NULL
        ORDER BY r.observed_at DESC, r.token_digest DESC LIMIT \(AliasTimeline.mostRegistrations)
        """
    }

    func remember(_ registration: ActivityRegistration, at observedAt: Date, as id: ActivityID) -> SQL {
        """
        INSERT INTO alias_registrations AS stored (
            scope_id, alias, owner, observed_at, token_digest, activity_id, token, facts
        )
        SELECT \(scope.id), \(alias), \(owner.stored), \(observedAt),
            sha256(\(registration.token?.bytes)), \(id), \(registration.token?.bytes), \(JSONB(registration.remembered))
        ON CONFLICT (scope_id, alias, owner, observed_at, token_digest) DO UPDATE SET
            activity_id = excluded.activity_id, token = excluded.token, facts = greatest(stored.facts, excluded.facts)
        """
    }

    func update(activityID: ActivityID?, closedActivityID: ActivityID?, endedAt: Date?) -> SQL {
        """
        UPDATE alias_identities i SET activity_id = \(activityID), closed_activity_id = \(closedActivityID),
            ended_at = greatest(i.ended_at, \(endedAt))
        WHERE \(sql: identity("i"))
        """
    }

    /// Deletes registrations to which no request can refer any more: a request observed then is past its lifetime, and
    /// its activity has gone. Each activity is a lookup of its own: the planner would otherwise read all of the app's.
    var forgetOld: SQL {
        """
        DELETE FROM alias_registrations r
        WHERE \(sql: identity("r"))
            AND r.observed_at <= now() - \(scope.app.settings.activityLifetime) - \(scope.app.settings.tombstoneRetention)
            AND (SELECT a.activity_id FROM activities a WHERE \(sql: scope.contains("a"))
                AND a.activity_id = r.activity_id LIMIT 1) IS NULL
        """
    }

    /// Of registrations of closed activities, and of those that fell out, only the digests are kept: they say which
    /// tokens may not come back without a time.
    func forget(_ entries: [AliasTimeline.Registration]) -> SQL {
        """
        UPDATE alias_registrations r SET token = NULL, facts = NULL
        FROM unnest(\(entries.map(\.observedAt)), \(entries.map(\.tokenDigest))) AS q (observed_at, token_digest)
        WHERE \(sql: identity("r")) AND r.observed_at = q.observed_at AND r.token_digest = q.token_digest
        """
    }

    /// The digests that are kept. A client that repeats an older token without a time begins a new activity with it.
    static let mostDigests = 256

    var forgetDigests: SQL {
        """
        DELETE FROM alias_registrations d WHERE \(sql: identity("d")) AND d.ctid = ANY(ARRAY(
            SELECT r.ctid FROM alias_registrations r WHERE \(sql: identity("r")) AND r.token IS NULL
            ORDER BY r.observed_at DESC, r.token_digest DESC OFFSET \(Self.mostDigests) LIMIT 1000
        ))
        """
    }
}

extension ActivityRegistration {
    /// All but token, `observedAt` and default aliases, as it is remembered.
    var remembered: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            // To the microsecond, as stored; the wire's times have milliseconds.
            json.member("startedAt", ifPresent: startedAt?.timeIntervalSinceReferenceDate)
            json.member("startsAt", ifPresent: startsAt?.timeIntervalSinceReferenceDate)
            json.member("installation", ifPresent: installation?.description)
            json.member("subject", ifPresent: subject)
            facts.writeMembers(to: &json)
            json.members(aliases, metadata)
        }
        return json.bytes
    }

    /// - Throws: ``UnreadableRow`` if the facts are not in the format of this program.
    init(token: PushToken, observedAt: Date, remembered: JSONB) throws {
        guard let value = JSONValue(stored: remembered.bytes) else { throw UnreadableRow(detail: "facts are not JSON") }
        self.init(token: token)
        self.observedAt = observedAt
        var json = JSONReader(value)
        startedAt = json.optionalNumber("startedAt").map(Date.init(timeIntervalSinceReferenceDate:))
        startsAt = json.optionalNumber("startsAt").map(Date.init(timeIntervalSinceReferenceDate:))
        wasAccepted = true
        installation = json.optionalString("installation")
            .flatMap(Hexadecimal.decode).map(InstallationHash.init(bytes:))
        subject = json.optionalString("subject").map { UTF8Text($0) }
        facts = ActivityFacts(from: &json, wereChecked: true)
        aliases = json.optional("aliases", AliasSet.init(stored:))
        metadata = json.optional("metadata") { Metadata(stored: $0) }
        guard json.faults.isEmpty else { throw UnreadableRow(detail: "facts of a registration") }
    }
}

extension AliasSet {
    init(stored value: JSONValue) throws(JSONFaultReason) {
        var aliases: [Alias] = []
        for (kind, values) in try JSONReader.object(value) {
            for element in try JSONReader.array(values) {
                let text = UTF8Text(try JSONReader.string(element))
                aliases.append(Alias(checkedKind: UTF8Text(kind), value: text))
            }
        }
        self.init(stored: aliases)
    }
}

extension JSONValue {
    /// Nil if it is no JSON. Any depth is allowed: it was measured when it came.
    init?(stored bytes: [UInt8]) {
        guard let value = try? JSONParser.parse(bytes, maximumDepth: JSONParser.deepestNesting) else { return nil }
        self = value
    }
}
