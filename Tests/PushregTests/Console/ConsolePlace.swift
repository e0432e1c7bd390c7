import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
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
        let key = APIKey(random: .root)
        try await makeKeys(key, scope.app, database.registry)
        let service = try await ServiceProcess.start(
            database: ["--database-url", database.connectionString],
            arguments: ["--unsafe-durability", "--sweep-interval", "PT1H"],
            isInsecure: false
        )
        return ConsolePlace(service: service, database: database, key: key.text.revealed)
    }

    private static func makeKeys(_ root: APIKey, _ app: App, _ registry: Registry) async throws {
        func make(_ key: APIKey, _ name: String, expiresAt: Date? = nil) async throws {
            let request = APIKeyRequest(role: key.id.role, name: name, expiresAt: expiresAt)
            let owner = key.id.role == .root ? nil : app
            _ = try await registry.createKey(key.id, digest: key.secretDigest, request, of: owner, by: "test")
        }
        try await make(root, "the console's tests")
        try await make(APIKey(random: .client), "iOS app 4.2")
        try await make(APIKey(random: .sender), "push gateway", expiresAt: .minutesAgo(-3 * 1440))
        try await make(APIKey(random: .auditor), "on call", expiresAt: .minutesAgo(60))
        let revoked = APIKey(random: .admin)
        try await make(revoked, "before the move")
        _ = try await registry.revokeKey(revoked.id, ofApp: app.id, by: "test")
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

    func cookie() async throws -> String {
        let page = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: url("/console/sign-in")),
            timeout: .seconds(60)
        )
        let text = String(buffer: try await page.body.collect(upTo: 1 << 20))
        let form = text.firstMatch(of: /name="form" value="([0-9a-f]+)"/).map { String($0.1) } ?? ""
        var request = HTTPClientRequest(url: url("/console/sign-in"))
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        request.headers.add(name: "Cookie", value: Self.pair(page.headers["Set-Cookie"].first))
        request.body = .bytes(ByteBuffer(string: "key=\(key)&form=\(form)"))
        let client = HTTPClient(configuration: .init(redirectConfiguration: .disallow))
        let answer = try await client.execute(request, timeout: .seconds(60))
        try await client.shutdown()
        return Self.pair(answer.headers["Set-Cookie"].first { $0.hasPrefix("pushreg-console") })
    }

    private static func pair(_ cookie: String?) -> String { String((cookie ?? "").prefix { $0 != ";" }) }

    func firstByte(_ path: String, _ cookie: String) async throws -> Duration {
        let (time, status, text) = try await time(path, "Cookie", cookie)
        guard text.contains("Sign out") || status == .notFound else {
            throw ServiceFault(detail: "\(path): \(status) \(text.prefix(200))")
        }
        return time
    }

    func answer(_ path: String) async throws -> Duration {
        let (time, status, text) = try await time(path, "Authorization", "Bearer \(key)")
        guard status == .ok else { throw ServiceFault(detail: "\(path): \(status) \(text.prefix(200))") }
        return time
    }

    private func time(
        _ path: String,
        _ field: String,
        _ value: String
    ) async throws -> (Duration, HTTPResponseStatus, String) {
        var request = HTTPClientRequest(url: url(path))
        request.headers.add(name: field, value: value)
        let start = ContinuousClock.now
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let time = ContinuousClock.now - start
        return (time, answer.status, String(buffer: try await answer.body.collect(upTo: 1 << 24)))
    }
}
