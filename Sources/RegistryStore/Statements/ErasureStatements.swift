import Foundation
import PostgresDriver
import RegistryCore

/// Whom an erasure is about.
public enum ErasureSubject: Sendable, Hashable {
    /// All activities and installations that bear the alias, and its channel.
    case alias(Alias)
    case installation(InstallationHash)
    /// The signed-in user.
    case subject(String)
}

/// The statements of an erasure, and the check that keeps out what was erased.
struct ErasureStatements {
    let subject: ErasureSubject
    let scope: Scope

    private var app: Int64 { scope.app.number }
    private var environment: String { scope.environment.rawValue }

    private func inScope(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app) AND \(unescaped: row).environment = \(environment)::apns_environment
        """
    }

    // MARK: What was erased

    /// What stands in `erasures` for the name that an SQL expression gives: nobody can tell the name from it without
    /// the app's salt. The row of the app is called `app`.
    static func digest(_ expression: String) -> String {
        "sha256(uuid_send(app.erasure_salt) || convert_to(\(expression), 'UTF8'))"
    }

    /// The name of what is erased, as `digest` takes it.
    private var name: String {
        switch subject {
        case .alias(let alias): Self.name(of: alias)
        case .installation(let hash): Self.name(of: hash)
        case .subject(let subject): Self.name(ofSubject: subject)
        }
    }

    static func name(ofSubject subject: String) -> String { "subject:\(subject)" }
    static func name(of alias: Alias) -> String { "alias:\(alias.kind):\(alias.value)" }
    static func name(of installation: InstallationHash) -> String { "installation:\(installation)" }

    /// Remembers what is erased, and as of when.
    var remember: SQL {
        """
        INSERT INTO erasures AS stored (app_number, environment, erased_digest, erased_at)
        SELECT app.app_number, \(environment)::apns_environment, \(unescaped: Self.digest("given.name")), clock_timestamp()
        FROM apps app CROSS JOIN (SELECT \(name)::text AS name) AS given
        WHERE app.app_number = \(app)
        ON CONFLICT (app_number, environment, erased_digest) DO UPDATE SET erased_at = clock_timestamp()
        """
    }

    /// How many transactions write that began before the erasure was known: they may not have seen it.
    ///
    /// A statement locks its tables before it takes its snapshot, so whoever has an older snapshot has the lock by now.
    static func writers(before time: Date) -> SQL {
        """
        SELECT count(*) FROM pg_locks l JOIN pg_stat_activity s ON s.pid = l.pid
        WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.pid <> pg_backend_pid()
            AND l.relation IN ('activities'::regclass, 'installations'::regclass, 'alias_identities'::regclass)
            AND s.xact_start <= \(time)
        """
    }

    // MARK: Activities

    /// Finds and locks the next activities that are to go.
    func activities(limit: Int) -> SQL {
        """
        SELECT a.activity_id FROM activities a
        WHERE \(sql: inScope("a")) AND \(sql: concerns)
        ORDER BY a.activity_id LIMIT \(limit) FOR UPDATE
        """
    }

    /// Whether activity `a` is to go.
    private var concerns: SQL {
        switch subject {
        case .alias(let alias):
            """
            a.activity_number = ANY(ARRAY(
                SELECT al.activity_number FROM activity_aliases al
                WHERE \(sql: inScope("al")) AND al.kind = \(alias.kind) AND al.value = \(alias.value)
            ))
            """
        case .installation(let hash): "a.installation_hash = \(hash.bytes)"
        case .subject(let subject): "a.subject = \(subject)"
        }
    }

    /// Deletes activities, and leaves tombstones that name nobody.
    func delete(_ ids: [String]) -> [SQL] {
        let tombstones: SQL = """
            INSERT INTO erasures AS stored (app_number, environment, erased_digest, erased_at)
            SELECT app.app_number, \(environment)::apns_environment,
                \(unescaped: Self.digest("'activity:' || q.id")), clock_timestamp()
            FROM apps app CROSS JOIN unnest(\(ids)) AS q (id)
            WHERE app.app_number = \(app)
            ORDER BY 3
            ON CONFLICT (app_number, environment, erased_digest) DO UPDATE SET erased_at = excluded.erased_at
            """
        return [tombstones] + identities(of: ids) + SweepStatements(scope: scope).delete(ids)
    }

    /// The identities under which activities were made, which name an alias and an owner.
    private func identities(of ids: [String]) -> [SQL] {
        ["alias_registrations", "alias_identities"].map { table in
            """
            DELETE FROM \(unescaped: table) d
            USING activities a CROSS JOIN LATERAL jsonb_array_elements_text(a.aliases -> \(Alias.liveActivityKind)) AS named
            WHERE \(sql: inScope("a")) AND a.activity_id = ANY(\(ids)) AND \(sql: inScope("d")) AND d.alias = named.value
                AND d.owner = ANY(ARRAY['installation:' || encode(a.installation_hash, 'hex'), 'subject:' || a.subject, 'app'])
                AND EXISTS (SELECT FROM alias_identities i WHERE \(sql: inScope("i")) AND i.alias = d.alias
                    AND i.owner = d.owner AND a.activity_id IN (i.activity_id, i.closed_activity_id))
            """
        }
    }

    // MARK: The rest

    /// Deletes what is held beside activities.
    var deleteRest: [SQL] {
        let installations = installations
        let tables = [
            "start_tokens", "device_tokens", "installation_token_claims", "installation_aliases", "installations",
        ]
        return identities + [
            // Their values first, while it is known which they are. A start token's may be another installation's, too.
            """
            DELETE FROM token_values t WHERE \(sql: inScope("t")) AND (t.installation_hash IN (\(sql: installations))
                OR (t.token_digest IN (SELECT s.token_digest FROM start_tokens s
                    WHERE \(sql: inScope("s")) AND s.installation_hash IN (\(sql: installations)))
                    AND NOT EXISTS (SELECT FROM start_tokens s WHERE \(sql: inScope("s"))
                        AND s.token_digest = t.token_digest AND s.installation_hash NOT IN (\(sql: installations)))))
            """
        ] + [channel]
            + tables.map { table in
                """
                DELETE FROM \(unescaped: table) d
                WHERE \(sql: inScope("d")) AND d.installation_hash IN (\(sql: installations))
                """
            }
    }

    /// What was said of installations that go, also of those that another name led to, does not come back.
    var installationTombstones: SQL {
        """
        INSERT INTO erasures AS stored (app_number, environment, erased_digest, erased_at)
        SELECT app.app_number, \(environment)::apns_environment,
            \(unescaped: Self.digest("'installation:' || encode(q.installation_hash, 'hex')")), clock_timestamp()
        FROM apps app CROSS JOIN (\(sql: installations)) AS q (installation_hash)
        WHERE app.app_number = \(app)
        ORDER BY 3
        ON CONFLICT (app_number, environment, erased_digest) DO UPDATE SET erased_at = excluded.erased_at
        """
    }

    /// The installations that are to go.
    private var installations: SQL {
        switch subject {
        case .alias(let alias):
            """
            SELECT i.installation_hash FROM installations i
            WHERE \(sql: inScope("i")) AND i.aliases -> \(alias.kind) ? \(alias.value)
            """
        case .installation(let hash): "SELECT \(hash.bytes)"
        case .subject(let subject):
            """
            SELECT i.installation_hash FROM installations i WHERE \(sql: inScope("i")) AND i.subject = \(subject)
            """
        }
    }

    private var channel: SQL {
        guard case .alias(let alias) = subject else { return "SELECT" }
        return """
            DELETE FROM channels c
            WHERE \(sql: inScope("c")) AND c.kind = \(alias.kind) AND c.value = \(alias.value)
            """
    }

    private var identities: [SQL] {
        let condition: SQL? =
            switch subject {
            case .alias(let alias): alias.kind == Alias.liveActivityKind ? "d.alias = \(alias.value)" : nil
            case .installation(let hash): "d.owner = \(ActivityOwner.installation(hash).stored)"
            case .subject(let subject): "d.owner = \(ActivityOwner.subject(subject).stored)"
            }
        guard let condition else { return [] }
        return ["alias_registrations", "alias_identities"].map { table in
            "DELETE FROM \(unescaped: table) d WHERE \(sql: inScope("d")) AND \(sql: condition)"
        }
    }

    // MARK: The audit trail

    /// Takes all personal data out of a page of events; that something happened remains.
    ///
    /// - Returns: a statement that gives the last event's number, null after the last page, and how many were redacted.
    func redact(after number: Int64, limit: Int) -> SQL {
        """
        WITH page AS (
            SELECT e.event_number FROM events e
            WHERE e.app_number = \(app) AND e.event_number > \(number)
            ORDER BY e.event_number LIMIT \(limit)
        ), redacted AS (
            UPDATE events e SET activity_id = NULL, installation_hash = NULL, subject = NULL, aliases = NULL,
                token_fingerprint = NULL, who = CASE WHEN e.who = e.subject THEN 'erased' ELSE e.who END
            WHERE e.app_number = \(app) AND e.event_number > \(number)
                AND e.event_number <= (SELECT max(page.event_number) FROM page)
                AND e.environment = \(environment)::apns_environment AND \(sql: isTold)
            RETURNING e.event_number
        )
        SELECT (SELECT max(page.event_number) FROM page), (SELECT count(*) FROM redacted)
        """
    }

    /// Whether event `e` is about what was erased, an erased activity or installation included.
    private var isTold: SQL {
        let direct: SQL =
            switch subject {
            case .alias(let alias): "coalesce(e.aliases -> \(alias.kind) ? \(alias.value), false)"
            case .installation(let hash): "e.installation_hash = \(hash.bytes)"
            case .subject(let subject): "(e.subject = \(subject) OR e.who = \(subject))"
            }
        return """
            (\(sql: direct) OR EXISTS (
                SELECT FROM erasures x JOIN apps app ON app.app_number = x.app_number
                WHERE x.app_number = \(app) AND x.environment = \(environment)::apns_environment
                    AND (x.erased_digest = \(unescaped: Self.digest("'activity:' || e.activity_id"))
                        OR (x.erased_at >= e.recorded_at AND x.erased_digest
                            = \(unescaped: Self.digest("'installation:' || encode(e.installation_hash, 'hex')"))))
            ))
            """
    }

    // MARK: Keeping out

    /// Whether something was erased lately: only then need a request be looked at. What is older than the retention is
    /// past its lifetime.
    private static func isRecent(in scope: Scope) -> SQL {
        """
        coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.app_number = \(scope.app.number)
            AND recent.environment = \(scope.environment.rawValue)::apns_environment
            ORDER BY recent.erased_at DESC LIMIT 1) > now() - \(scope.app.settings.tombstoneRetention), false)
        """
    }

    /// Whether a request is about what was erased: its activity, or anything that it names and observed no later than
    /// the erasure.
    ///
    /// - Parameters:
    ///   - digests: the digests of all that the request names, the activity's included.
    ///   - activity: the digest of the activity that it names.
    ///   - time: when it was observed.
    static func isErased(digests: SQL, activity: SQL, observedAt time: SQL, in scope: Scope) -> SQL {
        """
        (\(sql: isRecent(in: scope)) AND EXISTS (
            SELECT FROM erasures erased
            WHERE erased.app_number = \(scope.app.number) AND erased.environment = \(scope.environment.rawValue)::apns_environment
                AND erased.erased_digest = ANY(\(sql: digests))
                AND (erased.erased_digest = \(sql: activity) OR erased.erased_at >= \(sql: time))
        ))
        """
    }

    /// Whether any of the names was erased after a request was observed; one without a time is later than all erasures.
    /// The row of the app is called `app`.
    static func isErased(_ names: [String], observedAt: Date?, in scope: Scope) -> SQL {
        isErased(
            digests: """
                ARRAY(SELECT \(unescaped: digest("named.name")) FROM unnest(\(names)) AS named (name))
                """,
            activity: "NULL",
            observedAt: "coalesce(\(observedAt), now())",
            in: scope
        )
    }

    /// The digests of all that registration `r` names.
    static let registrationDigests: SQL = """
        (ARRAY[\(unescaped: digest("'activity:' || r.activity_id")), \
        \(unescaped: digest("'installation:' || encode(r.installation_hash, 'hex')")), \
        \(unescaped: digest("'subject:' || r.subject"))] || ARRAY( \
        SELECT \(unescaped: digest("'alias:' || kinds.key || ':' || alias_values.value")) \
        FROM jsonb_each(r.aliases) AS kinds CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values))
        """
}
