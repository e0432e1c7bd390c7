import Foundation
import HTTPTypes
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct MetricsTests {
    private static let registering = #"method="PUT",route="/v1/apps/{bundleId}/{environment}/activities/{activityId}""#
    private static let resolving =
        #"method="GET",route="/v1/apps/{bundleId}/{environment}/aliases/{kind}/{value}/activities""#

    private static let fresh = ServiceTrait.service { $0.limits.totalsLifetime = .zero }

    private static func sweep() async {
        let (registry, metrics) = (server.registry, responder.metrics.recorded)
        await Sweeper(registry: registry, interval: .seconds(60), logger: .silent, metrics: metrics).sweepOnce()
    }

    /// Registers, rotates, refreshes, sends a late token, resolves, gets a 410, ends, registers late; another expires.
    private static func live() async throws {
        func put(_ id: String, _ token: Int, minutesAgo: Double) async throws -> Int {
            let body: JSONValue = [
                "token": .token(token), "observedAt": .minutesAgo(minutesAgo),
                "aliases": ["liveactivityId": "order-42"],
            ]
            return try await server.call(.put, "…/activities/\(id)", body).status
        }
        #expect(try await put("canary-1", 1, minutesAgo: 30) == 201)
        #expect(try await put("canary-1", 2, minutesAgo: 20) == 200)
        #expect(try await put("canary-1", 2, minutesAgo: 20) == 200)
        #expect(try await put("canary-1", 1, minutesAgo: 30) == 409)
        #expect(try await put("canary-2", 3, minutesAgo: 10) == 201)
        #expect(try await server.call(.get, "…/aliases/liveactivityId/order-42/activities").status == 200)
        let report: JSONValue = ["token": .token(2), "status": 410, "reason": "Unregistered"]
        #expect(try await server.call(.post, "…/feedback", ["reports": [report]]).status == 200)
        #expect(try await server.call(.delete, "…/activities/canary-1").status == 204)
        #expect(try await put("canary-1", 4, minutesAgo: 1) == 410)
        let device = try await server.call(.put, "…/installations/phone-1/device-token", ["token": .token(9)])
        #expect(device.status == 201)
        let running: JSONValue = [
            "observedAt": .minutesAgo(1), "activities": [["activityId": "canary-3", "token": .token(5)]],
        ]
        #expect(try await server.call(.put, "…/installations/phone-1/activities", running).status == 200)
        #expect(try await server.call(.get, "/nothing-here").status == 404)
    }

    @Test(fresh) func `Counters follow the calls about an activity`() async throws {
        let before = try await server.measurements()
        try await Self.live()
        try await Self.expireActivity("canary-2")
        let unswept = try await server.measurements()
        await Self.sweep()
        let after = try await server.measurements()
        let expected: [String: Double] = [
            #"pushreg_registrations_total{kind="update",outcome="registered"}"#: 3,
            #"pushreg_registrations_total{kind="update",outcome="rotated"}"#: 1,
            #"pushreg_registrations_total{kind="update",outcome="refreshed"}"#: 1,
            #"pushreg_registrations_total{kind="update",outcome="superseded"}"#: 1,
            #"pushreg_registrations_total{kind="update",outcome="activity-ended"}"#: 1,
            #"pushreg_registrations_total{kind="device",outcome="registered"}"#: 1,
            #"pushreg_registrations_total{kind="start",outcome="registered"}"#: 0,
            "pushreg_http_requests_total{\(Self.registering),status=\"2xx\"}": 4,
            "pushreg_http_requests_total{\(Self.registering),status=\"4xx\"}": 2,
            "pushreg_http_request_duration_seconds_count{\(Self.registering)}": 6,
            "pushreg_http_requests_total{\(Self.resolving),status=\"2xx\"}": 1,
            #"pushreg_http_requests_total{method="any",route="none",status="4xx"}"#: 1,
            #"pushreg_feedback_total{action="dropped",reason="Unregistered"}"#: 1,
            #"pushreg_batch_size_count{work="registrations"}"#: 6,
            #"pushreg_batch_size_sum{work="registrations"}"#: 6,
            #"pushreg_batch_wait_seconds_count{work="resolutions"}"#: 1,
            #"pushreg_statement_duration_seconds_count{work="registrations"}"#: 6,
            #"pushreg_sweep_rows_total{task="expiry"}"#: 1,
            "pushreg_sweeps_total": 1,
            #"pushreg_activities{environment="sandbox",state="ended"}"#: 1,
            #"pushreg_activities{environment="sandbox",state="expired"}"#: 1,
            #"pushreg_activities{environment="sandbox",state="active"}"#: 1,
            #"pushreg_tokens{environment="sandbox",kind="update",state="current"}"#: 1,
            #"pushreg_tokens{environment="sandbox",kind="device",state="current"}"#: 1,
        ]
        for (series, difference) in expected { #expect(after[series] - before[series] == difference, "\(series)") }
        let events = try await database.count("SELECT count(*) FROM events")
        #expect(after["pushreg_events_written_total"] == Double(events))
        #expect(unswept["pushreg_sweep_lag_seconds"] > 3600)
        #expect(after["pushreg_sweep_lag_seconds"] == 0)
        #expect(after["pushreg_counts_age_seconds"] < 120)
        #expect(after["pushreg_postgres_up"] == 1)
        #expect(after[#"pushreg_pool_connections{state="idle"}"#] >= 1)
    }

    @Test func `An old snapshot is a metric and a finding that name its session`() async throws {
        // Sessions of a shared database may have older snapshots, as may a transaction of another database for a time.
        let database = try await TestDatabase.make(isAlone: true)
        try await ServiceTrait.service.run(on: database.registry) { server in
            let open = try await HeldTransaction("DECLARE report CURSOR FOR SELECT 1", in: database)
            #expect(try await database.registry.totals().oldSnapshot == nil)
            try await database.pool.withSession { session in
                try session.simple("SET synchronous_commit = off")
                try session.simple(
                    "DO 'BEGIN FOR n IN 0..100000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END'"
                )
            }
            let old = try #require(try await database.registry.databaseCondition().oldSnapshot)
            #expect(old.holder.contains(/^session \d+ \(application .*, user .+\)$/) && old.age > 100_000)
            let series = "pushreg_old_snapshot_transactions{holder=\"\(old.holder)\"}"
            #expect(try await server.measurements()[series] > 100_000)
            let findings = try await database.registry.databaseCondition().findings
            #expect(findings.first { $0.code == .oldSnapshot }?.detail.contains(old.holder) == true)
            try await open.release()
            try await until { try await database.registry.databaseCondition().oldSnapshot == nil }
        }
    }

    @Test(fresh) func `Metrics and statistics have equal numbers`() async throws {
        try await Self.live()
        try await Self.expireActivity("canary-2")
        await Self.sweep()
        // Of a later minute, so that statistics do not count again.
        try await database.execute("UPDATE counts SET counted_at = counted_at + interval '1 hour'")
        let statistics = try await server.call(.get, "…/stats")
        let metrics = try await server.measurements()
        #expect(statistics["activities"] == ["active": 1, "ended": 1, "expired": 1])
        for state in ActivityState.allCases {
            let series = "pushreg_activities{environment=\"sandbox\",state=\"\(state.rawValue)\"}"
            #expect(statistics["activities"][state.rawValue] ?? 0 == .integer(Int64(metrics[series])), "\(state)")
        }
        #expect(statistics["tokens"].all("kind") == TokenKind.all.map { .string($0.name) })
        for (kind, count) in zip(TokenKind.all, statistics["tokens"].all("count")) {
            let series = "pushreg_tokens{environment=\"sandbox\",kind=\"\(kind.name)\",state=\"current\"}"
            #expect(count == .integer(Int64(metrics[series])), "\(kind)")
        }
        #expect(statistics["tokenCounts"].all("counts") == [["update": 1, "device": 1]])
    }

    @Test(fresh) func `Every metric is exported, and none contains personal data`() async throws {
        try await Self.live()
        await Self.sweep()
        let text = try await server.measurements().text
        let tokens = (1...9).map { String("\(JSONValue.token($0))".dropFirst().prefix(16)) }
        for secret in tokens + ["canary", "order-42", "phone-1", "nothing-here", "com.example"] {
            #expect(!text.contains(secret), "\(secret)")
        }
        // These series appear only after a tripped guard, after a gorush post, and beside an old snapshot.
        for metric in Metric.allCases where ![.guardTrips, .ignoredGorushPosts, .oldSnapshot].contains(metric) {
            #expect(text.contains("# TYPE \(metric.rawValue) \(metric.type)\n"), "\(metric)")
        }
    }

    @Test func `Without Postgres, the other metrics are exported`() async throws {
        try await ServiceTrait.service.run(on: .away(within: .seconds(5))) { server in
            let measurements = try await server.measurements()
            #expect(measurements.text.contains("\npushreg_postgres_up 0\n"))
            #expect(!measurements.text.contains("pushreg_tokens") && !measurements.text.contains("pushreg_sweep_lag"))
            #expect(measurements["pushreg_pool_connect_failures_total"] >= 1)
        }
    }

    private static func expireActivity(_ id: String) async throws {
        try await database.execute(
            """
            UPDATE activities SET started_at = earlier(started_at, '9 hours'), expires_at = earlier(expires_at, '9 hours')
            WHERE activity_id = \(id)
            """
        )
    }
}

@Suite struct MetricsTextTests {
    @Test func `A histogram is written with its upper bounds`() {
        let histogram = Histogram(bounds: [0.5, 1, 2])
        for value in [0.25, 0.5, 0.75, 2, 64] { histogram.record(value) }
        var text = MetricsText()
        text.add(.batchWaits, [("work=\"x\"", histogram.snapshot)])
        let lines = text.text.split(separator: "\n").map(String.init)
        #expect(
            lines.dropFirst() == [
                "# TYPE pushreg_batch_wait_seconds histogram",
                #"pushreg_batch_wait_seconds_bucket{work="x",le="0.5"} 2"#,
                #"pushreg_batch_wait_seconds_bucket{work="x",le="1"} 3"#,
                #"pushreg_batch_wait_seconds_bucket{work="x",le="2"} 4"#,
                #"pushreg_batch_wait_seconds_bucket{work="x",le="+Inf"} 5"#,
                #"pushreg_batch_wait_seconds_sum{work="x"} 67.5"#,
                #"pushreg_batch_wait_seconds_count{work="x"} 5"#,
            ]
        )
    }

    @Test func `A time is written in seconds`() {
        let histogram = Histogram(bounds: [0.001, 0.01])
        histogram.record(.microseconds(1001))
        histogram.record(.seconds(2))
        #expect(histogram.snapshot.counts == [0, 1, 1])
        #expect(abs(histogram.snapshot.sum - 2.001001) < 1e-9)
    }

    @Test func `A series that counted nothing is left out`() {
        var text = MetricsText()
        text.add(.batchWaits, [("", Histogram(bounds: [1]).snapshot)])
        #expect(text.text.isEmpty)
    }

    @Test func `Labels are escaped`() {
        #expect(MetricsText.labels([("a", #"x"y\z"#), ("b", "1\n2")]) == #"a="x\"y\\z",b="1\n2""#)
    }

    @Test func `A series is stored once`() {
        let metrics = RecordedMetrics()
        for _ in 1...2 { metrics.counter(.sweptRows, [("task", "expiry")]).increment(by: 3) }
        var text = MetricsText()
        metrics.write(.sweptRows, to: &text)
        #expect(text.text.hasSuffix("\npushreg_sweep_rows_total{task=\"expiry\"} 6\n"))
    }
}

@Suite struct MonitoringFilesTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: ProjectFiles.root.appendingPathComponent(path), encoding: .utf8)
    }

    private static let alerts = "deploy/prometheus/alerts.yml"
    private static let runbook = "Sources/WebAssets/Documentation.docc/Monitoring.md"
    private static let files = [
        alerts, "deploy/prometheus/alerts.test.yml", "deploy/grafana/dashboard.json", runbook,
        "Sources/WebAssets/Documentation.docc/StatesOfAnActivity.md",
    ]

    /// The metrics in a text, without the suffixes of histograms.
    private static func names(in text: String) -> Set<String> {
        let histograms = Metric.allCases.filter { $0.type == "histogram" }.map(\.rawValue)
        return Set(
            text.matches(of: #/pushreg_[a-z_]+/#).map { match in
                let name = String(match.output)
                let base = name.replacing(#/_(bucket|sum|count)$/#, with: "")
                return histograms.contains(base) ? base : name
            }
        )
    }

    @Test(arguments: files) func `Alerts and dashboard use existing metrics`(_ file: String) throws {
        let names = try Self.names(in: Self.text(file))
        #expect(names.subtracting(Metric.allCases.map(\.rawValue)) == [])
        #expect(!names.isEmpty)
    }

    @Test func `Every metric is explained`() throws {
        #expect(try Set(Metric.allCases.map(\.rawValue)).subtracting(Self.names(in: Self.text(Self.runbook))) == [])
    }

    @Test func `Every alert has its paragraph`() throws {
        let alerts = try Self.text(Self.alerts)
        let named = alerts.matches(of: #/- alert: (\w+)/#).map { String($0.1) }
        let linked = alerts.matches(of: #/runbook: "Monitoring\.md#(\w+)"/#).map { String($0.1) }
        let explained = try Self.text(Self.runbook).matches(of: #/### (Pushreg\w+)\n\n\S/#).map { String($0.1) }
        #expect(named.count == 12)
        #expect(named == linked)
        #expect(named == explained)
    }

    @Test func `The dashboard is JSON`() throws {
        let dashboard = try JSONParser.parse(Array(Self.text("deploy/grafana/dashboard.json").utf8))
        guard case .array(let panels) = dashboard["panels"] else { throw JSONFaultReason("must have panels") }
        #expect(panels.count > 20)
        #expect(Set(panels.map { $0["id"] }).count == panels.count)
    }
}
