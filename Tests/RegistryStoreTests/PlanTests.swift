import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The plans of the hot statements on 100,000 activities: every table is reached by an index, none is read whole.
@Suite struct PlanTests {
    @Test(.timeLimit(.minutes(15)))
    func hotStatementsUseIndexesOnly() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await Self.fill(database, scope)
        var batch = RegistrationBatch()
        var registration = ActivityRegistration.sample(
            token: .sample(1),
            observedAt: .minutesAgo(1),
            aliases: [.sample("orderId", "1")]
        )
        _ = batch.add(RegistrationRequest(id: "activity-1", registration: registration, who: "test", scope: scope))
        registration.token = .sample(2)
        registration.observedAt = nil
        _ = batch.add(RegistrationRequest(id: "activity-2", registration: registration, who: "test", scope: scope))
        let alias = Alias.sample("orderId", "77")
        let ends = EndStatements(scope: scope, who: "test")
        let full = FullStateStatements(installation: .sample(7), observedAt: .minutesAgo(1), scope: scope, who: "test")
        let identity = AliasIdentityStatements(alias: "77", owner: .app, scope: scope)
        let phone = InstallationStatements(
            installation: .sample(7),
            scope: scope,
            claimant: .subject("u-7", .sample(7))
        )
        let profile = InstallationProfile(aliases: try AliasSet([alias]), observedAt: .minutesAgo(1))
        let logOut = LogOutStatements(rows: phone, who: "test")
        let channels = ChannelStatements(alias: alias, scope: scope, who: "test")
        let channel = try BroadcastChannel(id: "AAAA", storagePolicy: .none)
        // What counts an app's channels reads them all, ten thousand at most, and is left out.
        let installations: [SQL] =
            [phone.lock(observedAt: nil), phone.lock(observedAt: nil, registers: true), phone.merge(profile)]
            + [phone.record, phone.tokens] + phone.aliasRows + [Refusal.facts(about: phone)]
            + [phone.changeEvent(by: "test"), logOut.time(nil), logOut.activities(at: .minutesAgo(1))]
            + logOut.removal(at: .minutesAgo(1)) + Self.tokenStatements(alias, in: scope)
            + [channels.lock, channels.put(channel), channels.deletion]
            + [ChannelStatements.channels(of: [alias], in: scope)]
        let feedback = FeedbackStatements(batch: Self.reports([410, 400, 200]), scope: scope, who: "test")
        let unaccused = FeedbackStatements(batch: Self.reports([200, 429]), scope: scope, who: "test")
        let statements =
            installations
            + RegistrationStatements(batch: batch, scope: scope).all
            + ends.end(["activity-3"], reason: .ended, observedAt: nil) + [ends.end(under: alias, limit: 1000)]
            + [full.remember, full.lock(listed: ["activity-4"], tokens: [[1]])]
            + [full.dismissal(listed: ["activity-4"]), full.event(listed: ["activity-4"])]
            + [identity.lock(observedAt: nil), identity.clock(token: .sample(1)), identity.activity]
            + [identity.openRegistrations, identity.forgetClosed]
            // The guard's limit counts up to 5000 of the current tokens, wherever it finds them, and is left out.
            + [feedback.quarantine.lockGuards] + feedback.quarantine.releaseBurst
            + [feedback.lockActivities, feedback.lock(["activity-6"]), feedback.lockValues]
            + [feedback.outcome(at: FeedbackPlaces()), unaccused.outcome(at: FeedbackPlaces())]
            + [ResolveStatements.page(of: alias, after: 0, limit: 100, in: scope)]
            + [ResolveStatements.range(of: alias, after: 0, through: 100, in: scope)]
            + [ResolveStatements.number(of: alias, after: 0, count: 100, in: scope)]
            + [ResolveStatements.resolve([alias], limitPerAlias: 100, in: scope)]
            + [ResolveStatements.activity(.sample("activity-5"), in: scope)]
        // The control: a statement without an index must be seen.
        let control = try await Self.plan(of: "SELECT FROM activities WHERE metadata IS NOT NULL", in: database)
        #expect(control.contains("Seq Scan on activities"))
        for statement in statements {
            let plan = try await Self.plan(of: statement, in: database)
            // These tables are small and read whole; so are the rows of the request itself.
            let small = ["apps", "token_kinds", "quarantine_guards"]
            let scans = plan.matches(of: /Seq Scan on (\w+)/).map { String($0.1) }.filter { !small.contains($0) }
            #expect(scans == [], "\(statement.text)\n\(plan)")
        }
    }

    private static func reports(_ statuses: [Int]) -> FeedbackBatch {
        var batch = FeedbackBatch()
        for (index, status) in statuses.enumerated() {
            let report = FeedbackReport(token: .sample(index), status: status, reason: "BadDeviceToken")
            _ = batch.add(report, digest: [UInt8](repeating: UInt8(index), count: 32))
        }
        return batch
    }

    /// What is asked of start and device tokens.
    private static func tokenStatements(_ alias: Alias, in scope: Scope) -> [SQL] {
        let slots: [TokenSlot] = [.start(try! AttributesType("Match")), .only(.device)]
        return slots.flatMap { slot in
            let rows = TokenSlotRows(slot: slot, installation: .sample(7), scope: scope)
            let removal = TokenRemovalStatements(rows: rows, who: "test")
            let timed = TokenRegistration(token: .sample(1), observedAt: .minutesAgo(1))
            return [timed, TokenRegistration(token: .sample(1))].flatMap {
                TokenRegistrationStatements(registration: $0, rows: rows, who: "test").all
            } + removal.deletion(observedAt: nil) + removal.release + [tokenPage(of: alias, slot.kind, in: scope)]
        }
    }

    private static func tokenPage(of alias: Alias, _ kind: TokenKind, in scope: Scope) -> SQL {
        TokenResolveStatements.page(of: alias, kind, attributesType: nil, after: .start, limit: 100, in: scope)
    }

    /// A crowd under one alias: its first page must not cost what the crowd costs.
    @Test(.timeLimit(.minutes(15)))
    func firstPageOfACrowdIsNotJoinedWhole() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await Self.fill(database, scope)
        try await database.pool.withSession { session in
            try session.simple(
                """
                SET statement_timeout = 0;
                UPDATE activity_aliases SET value = 'crowd';
                UPDATE installation_aliases SET value = 'crowd'
                """
            )
        }
        try await database.pool.withSession { try $0.simple(Self.analysis) }
        let alias = Alias.sample("orderId", "crowd")
        for statement in [
            ResolveStatements.page(of: alias, after: 0, limit: 100, in: scope),
            ResolveStatements.resolve([alias], limitPerAlias: 100, in: scope),
            Self.tokenPage(of: alias, .start, in: scope), Self.tokenPage(of: alias, .device, in: scope),
        ] {
            let plan = try await Self.plan(of: "(ANALYZE, COSTS OFF, TIMING OFF) \(sql: statement)", in: database)
            let most = plan.matches(of: /rows=(\d+)/).compactMap { Int($0.1) }.max() ?? 0
            #expect(most <= 1000, "\(plan)")
        }
        let dense = ResolveStatements.denseRange(of: alias, after: 20_000, through: 22_000, in: scope)
        let plan = try await Self.genericPlan(
            of: dense,
            "\(scope.app.number), 20000, 22000, \(scope.app.number), 'sandbox', 'orderId', 'crowd', 20000, 22000",
            in: database
        )
        let most = plan.matches(of: /rows=(\d+)/).compactMap { Int($0.1) }.max() ?? 0
        #expect(most == 2000, "\(plan)")
        #expect(!plan.contains("Join Filter") && !plan.contains("Seq Scan"), "\(plan)")
    }

    /// The plan of a statement, made without its values, and what it came across with them.
    private static func genericPlan(of statement: SQL, _ values: String, in database: TestDatabase) async throws
        -> String
    {
        try await database.pool.withSession { session in
            let results = try session.pipeline([
                "SELECT set_config('plan_cache_mode', 'force_generic_plan', true)",
                "PREPARE of_test AS \(unescaped: statement.text)",
                "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE of_test (\(unescaped: values))",
                "DEALLOCATE of_test",
            ])
            return try results[2].rows.map { try $0.column(0, as: String.self) }.joined(separator: "\n")
        }
    }

    /// A page of an export costs the same wherever it lies, and so does what the doctor asks.
    @Test(.timeLimit(.minutes(15)))
    func pagesOfAnExportAreReadByTheirKeys() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await Self.fill(database, scope)
        let export = ExportStatements(scope: scope)
        let numbered: [ExportPart] = [.activities, .startTokens, .deviceTokens]
        let statements =
            numbered.map { export.stretch(of: $0, after: 20_000) }
            + numbered.map { export.rows(of: $0, after: 20_000, through: 20_000 + Int64(ExportStatements.pageSize)) }
            + [export.installations(after: [0x80]), export.names(after: "activity-5", "app")]
            + [SweepStatements(scope: scope).overdue(limit: OverdueExpiry.countLimit)]
        for statement in statements {
            let plan = try await Self.plan(of: "(ANALYZE, COSTS OFF, TIMING OFF) \(sql: statement)", in: database)
            let scans = plan.matches(of: /Seq Scan on (\w+)/).map { String($0.1) }
            #expect(scans.filter { !["apps", "token_kinds"].contains($0) } == [], "\(statement.text)\n\(plan)")
            let most = plan.matches(of: /rows=(\d+)/).compactMap { Int($0.1) }.max() ?? 0
            #expect(most <= ExportStatements.pageSize, "\(statement.text)\n\(plan)")
        }
    }

    static func plan(of statement: SQL, in database: TestDatabase) async throws -> String {
        try await database.pool.withSession { session in
            try session.execute("EXPLAIN \(sql: statement)").rows.map { try $0.column(0, as: String.self) }
                .joined(separator: "\n")
        }
    }

    /// Without names it would wait for the schemas of all other tests.
    private static let analysis = """
        ANALYZE activities, token_values, activity_aliases, installations, retired_tokens, alias_identities, \
        alias_registrations, start_tokens, device_tokens, installation_token_claims, installation_aliases, channels, \
        channel_quotas
        """

    /// Two start tokens and a device token for each installation, and an alias.
    private static func installationRows(_ app: Int64) -> [SQL] {
        [
            """
            INSERT INTO start_tokens (app_number, environment, installation_hash, attributes_type, token, token_digest,
                observed_at, claimed_at, confirmed_at, outcome)
            SELECT i.app_number, i.environment, i.installation_hash, kinds.name, i.installation_hash,
                sha256(i.installation_hash), now(), now(), now(), 'registered'
            FROM installations i CROSS JOIN (VALUES ('Match'), ('Delivery')) AS kinds (name)
            """,
            """
            INSERT INTO device_tokens (app_number, environment, installation_hash, kind, token, token_digest,
                observed_at, claimed_at, confirmed_at, outcome)
            SELECT i.app_number, i.environment, i.installation_hash, 'device', i.installation_hash || '\\x01',
                sha256(i.installation_hash || '\\x01'), now(), now(), now(), 'registered'
            FROM installations i
            """,
            """
            INSERT INTO token_values (app_number, environment, token_digest, installation_kind, installation_hash,
                installation_observed_at)
            SELECT app_number, environment, token_digest, kind, installation_hash, observed_at FROM device_tokens
            """,
            """
            INSERT INTO installation_token_claims (app_number, environment, installation_hash, kind, attributes_type,
                token_digest, first_observed_at, last_observed_at)
            SELECT app_number, environment, installation_hash, 'start', attributes_type, token_digest, now(), now()
            FROM start_tokens
            """,
            """
            INSERT INTO installation_aliases (app_number, environment, kind, value, installation_hash)
            SELECT app_number, environment, 'orderId', (row_number() OVER () / 2)::text, installation_hash
            FROM installations
            """,
            """
            INSERT INTO channels (app_number, environment, kind, value, channel_id, message_storage_policy)
            SELECT \(app), 'sandbox', 'orderId', n::text, 'channel-' || n, 0 FROM generate_series(1, 10000) AS n
            """,
            """
            INSERT INTO channel_quotas (app_number, environment)
            SELECT app_number, 'sandbox' FROM generate_series(1, 1000) AS app_number
            """,
        ]
    }

    /// Activities, three of an installation.
    static func activityRows(_ app: Int64, _ count: Int) -> SQL {
        """
        INSERT INTO activities (app_number, environment, activity_id, token, token_digest, token_observed_at,
            token_claimed_at, last_observed_at, started_at, lifetime, expires_at, confirmed_at, installation_hash, aliases, outcome,
            created_at)
        SELECT \(app), 'sandbox', 'activity-' || n, int8send(n), sha256(int8send(n)), now(), now(), now(), now(),
            '8 hours', now() + interval '8 hours', now(), sha256(int8send(n / 3)),
            jsonb_build_object('orderId', jsonb_build_array((n / 2)::text)), 'registered', now()
        FROM generate_series(1::bigint, \(count)) AS n
        """
    }

    /// A schema with many activities, three of an installation, and all that belongs to them.
    static func fill(_ database: TestDatabase, _ scope: Scope, count: Int = 100_000) async throws {
        let app = scope.app.number
        try await database.pool.withSession { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.pipeline([
                Self.activityRows(app, count),
                """
                INSERT INTO token_values (app_number, environment, token_digest, activity_id, observed_at)
                SELECT app_number, environment, token_digest, activity_id, token_observed_at FROM activities
                """,
                """
                INSERT INTO activity_aliases (app_number, environment, kind, value, ended, activity_number)
                SELECT app_number, environment, 'orderId', aliases -> 'orderId' ->> 0, false, activity_number
                FROM activities
                """,
                """
                INSERT INTO installations (app_number, environment, installation_hash)
                SELECT DISTINCT app_number, environment, installation_hash FROM activities
                """,
                """
                INSERT INTO retired_tokens (app_number, environment, activity_id, token_digest, observed_at, reason)
                SELECT app_number, environment, activity_id, sha256(token_digest), token_observed_at, 'rotated'
                FROM activities
                """,
                """
                INSERT INTO erasures (app_number, environment, erased_digest, erased_at)
                SELECT app_number, environment, sha256(token_digest), now() FROM activities WHERE activity_number <= 10000
                """,
                """
                INSERT INTO alias_identities (app_number, environment, alias, owner, activity_id)
                SELECT app_number, environment, activity_id, 'app', activity_id FROM activities
                """,
                """
                INSERT INTO alias_registrations (app_number, environment, alias, owner, observed_at, token_digest, activity_id)
                SELECT app_number, environment, activity_id, 'app', token_observed_at, token_digest, activity_id
                FROM activities
                """,
            ])
            _ = try session.pipeline(Self.installationRows(app))
            try session.simple(Self.analysis)
        }
    }
}
