import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport

@testable import RegistryServer

struct ConsolePlace {
    struct Page {
        let name: String
        let path: String
        let words: String
    }

    let service: ServiceProcess
    let database: TestDatabase
    let key: String

    static func make(count: Int) async throws -> ConsolePlace {
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        let scope = try await database.scope()
        _ = try await database.scope("com.example.taxi")
        try await ConsoleFilling(database: database, scope: scope, count: count).fill()
        let key = try await makeKeys(scope.app, database.registry)
        let service = try await ServiceProcess.start(
            database: ["--database-url", database.connectionString],
            arguments: ["--unsafe-durability", "--sweep-interval", "PT1H"],
            isInsecure: false
        )
        return ConsolePlace(service: service, database: database, key: key.text.revealed)
    }

    /// Creates keys in all states, and returns that of root.
    private static func makeKeys(_ app: App, _ registry: Registry) async throws -> APIKey {
        _ = try await registry.makeKey(.client, name: "iOS app 4.2", of: app)
        _ = try await registry.makeKey(.sender, name: "push gateway", of: app, expiresAt: .minutesAgo(-3 * 1440))
        _ = try await registry.makeKey(.auditor, name: "on call", of: app, expiresAt: .minutesAgo(60))
        let revoked = try await registry.makeKey(.admin, name: "before the move", of: app)
        _ = try await registry.revokeKey(revoked.id, ofApp: app.id, by: "test")
        return try await registry.makeKey(.root, name: "the console's tests", of: nil)
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(service.port)\(path)" }

    var pages: [Page] {
        let base = "/console/com.example.food/sandbox"
        return [
            Page(name: "apps", path: "/console", words: "com.example.taxi"),
            Page(name: "overview", path: base, words: "Live tokens"),
            Page(name: "overview-month", path: base + "?window=P30D", words: "Over time"),
            Page(name: "search", path: base + "/search?q=alias:order-42%20state:active", words: "life"),
            Page(name: "search-empty", path: base + "/search", words: "Search syntax"),
            Page(name: "search-events", path: base + "/search?q=event:dropped", words: "Audit trail"),
            Page(name: "activity", path: base + "/activities/life", words: "Timeline"),
            Page(name: "alias", path: base + "/aliases/liveactivityId/order-42", words: "Left out"),
            Page(name: "stale", path: base + "/stale", words: "By reason"),
            Page(name: "purge", path: base + "/stale/purge?kind=update&reason=quarantined", words: "Tokens to purge"),
            Page(name: "installations", path: base + "/installations", words: "Last seen"),
            Page(
                name: "installation",
                path: base + "/installations/" + ConsoleFilling.installation,
                words: "Audit trail"
            ),
            Page(name: "channels", path: base + "/channels", words: "of 10,000"),
            Page(name: "keys", path: base + "/keys", words: "push gateway"),
            Page(name: "system", path: base + "/system", words: "Configuration"),
            Page(name: "problem", path: base + "/nowhere", words: "no-such-route"),
        ]
    }

    var auditCalls: [String] {
        let base = "/v1/apps/com.example.food/sandbox/"
        return [
            "stats", "stats?window=P30D", "audit/stale", "audit/stale?reason=unconfirmed&unconfirmedFor=PT2H",
            "audit/stale?reason=quarantined", "audit/stale?kind=start&limit=1000",
            "audit/events", "audit/events?limit=1000", "audit/events?type=dropped", "audit/events?type=purged",
            "audit/events?activityId=life", "audit/events?alias=liveactivityId:order-42", "audit/events?subject=u-7",
            "audit/explain?kind=liveactivityId&value=order-42", "audit/explain?kind=orderId&value=o-77",
            "audit/explain?kind=orderId&value=nothing",
        ].map { base + $0 }
    }

    /// Signs in.
    func cookie() async throws -> HTTPFields {
        let page = try await Reply.to(.get, "/console/sign-in", port: service.port)
        let form = page.text.firstMatch(of: /name="form" value="([0-9a-f]+)"/).map { String($0.1) } ?? ""
        let fields: HTTPFields = [.cookie: Self.pair(page), .contentType: "application/x-www-form-urlencoded"]
        let body = Array("key=\(key)&form=\(form)".utf8)
        return [.cookie: Self.pair(try await Reply.to(.post, "/console/sign-in", fields, body, port: service.port))]
    }

    private static func pair(_ reply: Reply) -> String {
        let cookies = reply.fields[values: .setCookie]
        return String((cookies.first { $0.hasPrefix("pushreg-console") } ?? cookies.first ?? "").prefix { $0 != ";" })
    }

    func time(of path: String, _ fields: HTTPFields) async throws -> Duration {
        let start = ContinuousClock.now
        let reply = try await Reply.to(.get, path, fields, port: service.port)
        guard reply.status == (path.hasSuffix("/nowhere") ? 404 : 200) else {
            throw ServiceFault(detail: "\(path): \(reply.status) \(reply.text.prefix(200))")
        }
        return ContinuousClock.now - start
    }
}
