import Foundation
import PostgresDriver
import RegistryCore

/// The statements about one (liveactivityId, owner).
struct AliasIdentityStatements {
    let alias: String
    let owner: ActivityOwner
    let scope: Scope

    private var app: Int64 { scope.app.number }
    private var environment: String { scope.environment.rawValue }

    /// The rows of the identity in the table called `row`.
    private func identity(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app) AND \(unescaped: row).environment = \(environment)::apns_environment
        AND \(unescaped: row).alias = \(alias) AND \(unescaped: row).owner = \(owner.stored)
        """
    }

    /// Makes the identity's row or locks it; all requests of one identity follow one another.
    func lock(observedAt: Date?) -> SQL {
        """
        INSERT INTO alias_identities AS stored (app_number, environment, alias, owner)
        SELECT app.app_number, \(environment)::apns_environment, \(alias), \(owner.stored)
        FROM apps app
        WHERE app.app_number = \(app) AND coalesce(\(observedAt) <= now() + interval '5 minutes', true)
            AND NOT \(sql: isErased(observedAt))
        ON CONFLICT (app_number, environment, alias, owner) DO UPDATE SET touched_at = clock_timestamp()
        RETURNING stored.activity_id, stored.closed_activity_id, stored.ended_at
        """
    }

    /// The alias or its owner was erased after the request was observed.
    private func isErased(_ observedAt: Date?) -> SQL {
        let names = ["alias:\(Alias.liveActivityKind):\(alias)", owner.stored]
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

    /// The identity's latest activity.
    var activity: SQL {
        """
        SELECT \(unescaped: MergedActivity.columns), stored.last_observed_at
        FROM alias_identities i
        JOIN activities stored ON stored.app_number = i.app_number AND stored.environment = i.environment
            AND stored.activity_id = i.activity_id
        WHERE \(sql: identity("i"))
        """
    }

    /// What was registered since the last end.
    var openRegistrations: SQL {
        """
        SELECT r.observed_at, r.token_digest, r.activity_id, r.token, r.facts
        FROM alias_registrations r JOIN alias_identities i ON i.app_number = r.app_number
            AND i.environment = r.environment AND i.alias = r.alias AND i.owner = r.owner
        WHERE \(sql: identity("r")) AND (i.ended_at IS NULL OR r.observed_at > i.ended_at) AND r.token IS NOT NULL
        """
    }

    /// Remembers a registration and the activity that it was merged into.
    func remember(_ registration: ActivityRegistration, at observedAt: Date, as id: String) -> SQL {
        """
        INSERT INTO alias_registrations AS stored (
            app_number, environment, alias, owner, observed_at, token_digest, activity_id, token, facts
        )
        SELECT \(app), \(environment)::apns_environment, \(alias), \(owner.stored), \(observedAt),
            sha256(\(registration.token?.bytes)), \(id), \(registration.token?.bytes), \(JSONB(registration.facts))
        ON CONFLICT (app_number, environment, alias, owner, observed_at, token_digest) DO UPDATE SET
            activity_id = excluded.activity_id, facts = greatest(stored.facts, excluded.facts)
        """
    }

    /// Notes which activity runs, which one takes late requests, and the greatest end.
    func update(activityID: String?, closedActivityID: String?, endedAt: Date?) -> SQL {
        """
        UPDATE alias_identities i SET activity_id = \(activityID), closed_activity_id = \(closedActivityID),
            ended_at = greatest(i.ended_at, \(endedAt))
        WHERE \(sql: identity("i"))
        """
    }

    /// What nobody can refer to any more: a request observed then is past its lifetime.
    var forgetOld: SQL {
        """
        DELETE FROM alias_registrations r
        WHERE \(sql: identity("r"))
            AND r.observed_at <= now() - \(scope.app.settings.activityLifetime) - \(scope.app.settings.tombstoneRetention)
        """
    }

    /// Of closed activities only the digests are kept: they say which tokens may not begin a new one.
    var forgetClosed: SQL {
        """
        UPDATE alias_registrations r SET token = NULL, facts = NULL FROM alias_identities i
        WHERE \(sql: identity("r")) AND i.app_number = r.app_number AND i.environment = r.environment
            AND i.alias = r.alias AND i.owner = r.owner AND r.observed_at <= i.ended_at AND r.token IS NOT NULL
        """
    }
}

extension ActivityRegistration {
    /// All but token, `observedAt` and default aliases, as it is remembered.
    var facts: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            // To the microsecond, as it is stored; the wire's times have milliseconds.
            json.member("startedAt", ifPresent: startedAt?.timeIntervalSinceReferenceDate)
            json.member("installation", ifPresent: installation?.description)
            json.member("subject", ifPresent: subject)
            json.member("attributesType", ifPresent: attributesType?.rawValue)
            json.member("frequentPushesEnabled", ifPresent: frequentPushesEnabled)
            json.members(aliases, metadata)
        }
        return json.bytes
    }

    /// - Throws: ``UnreadableRow`` when the facts are not as this program writes them.
    init(token: [UInt8], observedAt: Date, facts: [UInt8]) throws {
        guard let value = try? JSONParser.parse(facts) else { throw UnreadableRow(detail: "facts are not JSON") }
        self.init(token: PushToken(bytes: token))
        self.observedAt = observedAt
        var json = JSONReader(value)
        startedAt = json.optionalNumber("startedAt").map(Date.init(timeIntervalSinceReferenceDate:))
        installation = json.optionalString("installation")
            .flatMap(Hexadecimal.decode).map(InstallationHash.init(bytes:))
        subject = json.optionalString("subject")
        attributesType = json.optionalString("attributesType", AttributesType.init)
        aliases = json.optional("aliases", AliasSet.init(canonical:))
        frequentPushesEnabled = json.optionalBool("frequentPushesEnabled")
        metadata = json.optional("metadata", Metadata.init)
        guard json.faults.isEmpty else { throw UnreadableRow(detail: "facts of a registration") }
    }
}

extension AliasSet {
    /// Reads what ``canonicalJSON`` writes.
    init(canonical value: JSONValue) throws(JSONFaultReason) {
        var aliases: [Alias] = []
        for (kind, values) in try JSONReader.object(value) {
            for element in try JSONReader.array(values) {
                aliases.append(try Alias(kind: kind, value: try JSONReader.string(element)))
            }
        }
        try self.init(aliases)
    }
}
