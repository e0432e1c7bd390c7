import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

/// An app with something in each table that an app has, made by calls of the API.
struct WholeApp {
    /// By role.
    private(set) var keys: [String: String] = [:]
    /// One that was revoked.
    private(set) var revokedKey = ""
    /// The place in its change feed.
    private(set) var position = ""

    static let production = "/v1/apps/com.example.food/production"
    /// A token of 32 bytes.
    static func token(_ number: Int) -> String {
        let digits = String(1000 + number)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    private let service: ServiceProcess

    /// Makes it on a database, by a service that is stopped again.
    static func make(on database: TestDatabase) async throws -> WholeApp {
        let flags = ["--unsafe-durability", "--sweep-interval", "PT1H"]
        let service = try await ServiceProcess.start(databaseURL: database.connectionString, arguments: flags)
        var app = WholeApp(service: service)
        try await app.live()
        #expect(await service.stop() == 0)
        // The sweep writes them over time.
        try await database.execute(
            """
            INSERT INTO token_counts (app_number, environment, counted_at, counts)
            SELECT app_number, 'sandbox', '2026-01-01T00:00:00Z', '{"update": 7}' FROM apps ON CONFLICT DO NOTHING
            """
        )
        return app
    }

    private init(service: ServiceProcess) { self.service = service }

    @discardableResult
    private func call(_ method: String, _ path: String, _ body: String? = nil, _ statuses: Set<Int> = [200, 201, 204])
        async throws -> JSONValue
    {
        let path = path.hasPrefix("/v1") ? path : "\(ServiceProcess.app)/\(path)"
        let answer = try await service.call(method, path, body)
        #expect(statuses.contains(answer.status), "\(method) \(path): \(answer.status) \(answer.body)")
        return (try? JSONParser.parse(answer.body)) ?? .null
    }

    private static func ago(_ minutes: Double) -> String { RFC3339.format(.minutesAgo(minutes)) }

    private mutating func live() async throws {
        try await call(
            "PUT",
            "/v1/apps/com.example.food",
            #"{"name":"Food","tombstoneRetention":"P9D","eventRetention":"P30D","aliasRules":{"userId":"backend"}}"#
        )
        for role in ["client", "sender", "auditor", "admin"] {
            keys[role] = try await key(role).secret
        }
        let revoked = try await key("sender")
        try await call("DELETE", "/v1/apps/com.example.food/keys/\(revoked.id)")
        revokedKey = revoked.secret
        try await activities()
        try await installations()
        try await reports()
        try await erased()
        if case .string(let after)? = try await call("GET", "changes")["after"] { position = after }
    }

    private func key(_ role: String) async throws -> (id: String, secret: String) {
        let made = try await call("POST", "/v1/apps/com.example.food/keys", #"{"role":"\#(role)"}"#)
        guard case .string(let id)? = made["id"], case .string(let secret)? = made["key"] else {
            throw ServiceFault(detail: "no key: \(made)")
        }
        return (id, secret)
    }

    /// Says that an activity has a token; the members go into the body as they are.
    private func register(_ id: String, _ number: Int, minutesAgo: Double, _ members: String = "") async throws {
        let body = #"{"token":"\#(Self.token(number))","observedAt":"\#(Self.ago(minutesAgo))"\#(members)}"#
        try await call("PUT", "activities/\(id)", body)
    }

    private func activities() async throws {
        let more = #","aliases":{"orderId":"runs"},"installationId":"phone-1","metadata":{"a":null,"b":[1,null]}"#
        try await register("runs", 1, minutesAgo: 30, more)
        try await register("rotated", 2, minutesAgo: 30, #","aliases":{"orderId":"rotated"}"#)
        try await register("rotated", 3, minutesAgo: 20)
        try await register("ended", 4, minutesAgo: 30, #","aliases":{"orderId":"ended"}"#)
        try await call("DELETE", "activities/ended?reason=dismissed")
        try await call("DELETE", "activities/never-seen")
        // One value, two activities: the later one has it.
        try await register("before", 5, minutesAgo: 30)
        try await register("after", 5, minutesAgo: 20)
        for (alias, number) in [("name", 6), ("over", 7)] {
            try await call("POST", "activities", #"{"token":"\#(Self.token(number))","alias":"\#(alias)"}"#)
        }
        try await call("DELETE", "activities?alias=over")
        try await register("dead", 8, minutesAgo: 30, #","aliases":{"orderId":"dead"}"#)
        try await register("quarantined", 9, minutesAgo: 30, #","aliases":{"orderId":"quarantined"}"#)
        let body = #"{"token":"\#(Self.token(10))","aliases":{"orderId":"runs"}}"#
        try await call("PUT", "\(Self.production)/activities/runs", body)
        try await call("PUT", "aliases/matchId/m-1/channel", #"{"channelId":"AAAA","messageStoragePolicy":1}"#)
    }

    private func installations() async throws {
        try await call(
            "PUT",
            "installations/phone-1",
            #"{"aliases":{"orderId":["runs","next"]},"metadata":{"x":null}}"#
        )
        // A, B, A: two phones have one id.
        for (number, minutes) in [(20, 30.0), (21, 20), (20, 10)] {
            let body = #"{"token":"\#(Self.token(number))","observedAt":"\#(Self.ago(minutes))"}"#
            try await call("PUT", "installations/phone-1/start-tokens/Delivery", body)
        }
        for (place, number) in [
            ("phone-1/device-token", 22), ("phone-1/tokens/widget", 23), ("phone-2/device-token", 24),
        ] {
            try await call("PUT", "installations/\(place)", #"{"token":"\#(Self.token(number))"}"#)
        }
        try await call("DELETE", "installations/phone-2/device-token")
        let gone = #","installationId":"phone-3","aliases":{"orderId":"gone"}"#
        try await register("logged-out", 25, minutesAgo: 30, gone)
        try await call("DELETE", "installations/phone-3")
        let plan = #"{"alias":{"kind":"orderId","value":"next"},"attributesType":"Delivery"}"#
        let planned = try await call("POST", "plan", plan)
        guard case .array(let phones)? = planned["installations"] else { throw ServiceFault(detail: "\(planned)") }
        #expect(phones.map { $0["action"] } == [.string("start")], "\(planned)")
    }

    private func reports() async throws {
        let reports = [(8, 410, "Unregistered"), (99, 410, "Unregistered"), (9, 400, "BadDeviceToken")].map {
            #"{"token":"\#(Self.token($0.0))","status":\#($0.1),"reason":"\#($0.2)"}"#
        }
        try await call("POST", "feedback", #"{"reports":[\#(reports.joined(separator: ","))]}"#)
    }

    private func erased() async throws {
        try await register("erased", 30, minutesAgo: 30, #","aliases":{"userId":"u-7"}"#)
        try await call("POST", "erasures", #"{"alias":{"kind":"userId","value":"u-7"}}"#)
    }
}

extension TestDatabase {
    func execute(_ sql: SQL) async throws {
        _ = try await pool.withSession { try $0.execute(sql).affectedRows }
    }

    /// The rows of an app that go with it, by table, each as text.
    func movedRows(of app: String = "com.example.food") async throws -> [String: [String]] {
        let tables = try await pool.withSession { session in
            try session.execute(
                """
                SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'app_number'
                WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
                    AND NOT c.relispartition AND c.relname NOT IN ('events', 'deleted_apps')
                """
            ).decode(String.self)
        }
        var rows: [String: [String]] = [:]
        for table in tables {
            let all: SQL = """
                SELECT (to_jsonb(r) - 'app_number' - 'events_dropped_to')::text COLLATE "C" AS row
                FROM \(unescaped: table) r WHERE r.app_number = (SELECT app_number FROM apps WHERE bundle_id = \(app))
                ORDER BY row
                """
            rows[table] = try await pool.withSession { try $0.execute(all).decode(String.self) }
        }
        return rows
    }
}
