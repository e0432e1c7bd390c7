import Foundation
import HTTPTypes
import NIOCore
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct SignedInUserTests {
    private static let food = "/v1/apps/com.example.food"

    private static func fields(_ token: String) -> HTTPFields { [.authorization: "Bearer \(token)"] }

    @Test(.secureService) func `A signed-in user registers their own records`() async throws {
        let (admin, sender) = (try await server.key(.admin), try await server.key(.sender))
        let settings: JSONValue = ["jwt": .object(TestIssuer.honest.settings)]
        #expect(try await server.call(.put, Self.food, settings, admin.fields).status == 200)
        let user = Self.fields(TestIssuer.honest.token(at: Date()))
        let his: JSONValue = ["token": .token(1), "aliases": ["userId": "u-1", "orderId": "o"]]
        #expect(try await server.call(.put, "…/activities/a", his, user).status == 201)
        let other: JSONValue = ["token": .token(2), "aliases": ["userId": "u-2"]]
        #expect(try await server.call(.put, "…/activities/b", other, user).problem == "alias-not-allowed")
        let named: JSONValue = ["token": .token(3), "alias": "match"]
        #expect(try await server.call(.post, "…/activities", named, user).status == 201)
        #expect(try await server.call(.delete, "…/activities?alias=match", nil, user).status == 204)
        let path = "…/aliases/userId/u-1/activities"
        #expect(try await server.call(.get, path, nil, user).problem == "forbidden")
        #expect(try await server.call(.get, path, nil, sender.fields)["activities"].all("activityId") == ["a"])
        for elsewhere in ["/v1/apps", "/v1/apps/com.example.none/sandbox/activities", "/readyz?verbose"] {
            let method: HTTPRequest.Method = elsewhere.hasSuffix("activities") ? .post : .get
            #expect(try await server.call(method, elsewhere, nil, user).problem == "unauthenticated")
        }
    }

    @Test(.secureService)
    func `Changed settings of the app apply to a cached JWT at once`() async throws {
        let admin = try await server.key(.admin)
        let user = Self.fields(TestIssuer.honest.token(at: Date()))
        func set(_ audience: JSONValue) async throws {
            var settings = TestIssuer.honest.settings
            settings["audience"] = audience
            let body: JSONValue = ["jwt": .object(settings)]
            #expect(try await server.call(.put, Self.food, body, admin.fields).status == 200)
            // Another caller refreshes the app's cache entry before the user's call.
            let path = "…/aliases/orderId/o/activities"
            #expect(try await server.call(.get, path, nil, admin.fields).status == 200)
        }
        func status() async throws -> Int {
            try await server.call(.put, "…/activities/a", ["token": .token(1)], user).status
        }
        try await set([.string(TestIssuer.audience)])
        // The second call is answered from the caches.
        #expect(try await [status(), status(), status()] == [201, 200, 200])
        try await set(["another"])
        #expect(try await [status(), status()] == [401, 401])
        try await set([.string(TestIssuer.audience)])
        #expect(try await status() == 200)
    }

    @Test func `Keys are fetched from the issuer`() async throws {
        let (issuer, clock) = (KeyServer(), ManualClock())
        try await Self.run(issuer, clock) { (server: LiveServer, _: App) async throws in
            func status(_ issuer: TestIssuer) async throws -> Int {
                let user = Self.fields(issuer.token(at: clock.now))
                let body: JSONValue = ["token": .token(1)]
                return try await server.call(.put, "…/activities/a", body, user).status
            }
            issuer.answer.withLock { $0 = .redirect }
            #expect(try await status(.honest) == 503)
            clock.advance(by: .seconds(60))
            issuer.answer.withLock { $0 = .keys }
            #expect(try await status(.honest) == 201)
            #expect(try await status(.stranger) == 401)
            for answer in [KeyServer.Answer.failure, .large, .redirect] {
                issuer.answer.withLock { $0 = answer }
                for _ in 0..<20 {
                    clock.advance(by: .seconds(60))
                    #expect(try await status(.honest) == 200)
                }
            }
            #expect(issuer.redirected.withLock { $0 } == 0)
        }
    }

    /// Runs the service with an app of the issuer.
    private static func run(
        _ issuer: KeyServer,
        _ clock: ManualClock,
        _ test: @Sendable (LiveServer, App) async throws -> Void
    ) async throws {
        try await issuer.run { port in
            let (database, _) = try await TestDatabase.withScope()
            var configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
            configuration.allowsInternalJWKS = true
            try await LiveServer.run(on: database.registry, configuration, clock: clock.clock) { server in
                var settings = TestIssuer.honest.settings
                settings["jwks"] = nil
                settings["jwksUrl"] = .string("http://localhost:\(port)/keys")
                #expect(try await server.call(.put, food, ["jwt": .object(settings)]).status == 200)
                try await test(server, try #require(try await server.registry.app(BundleID("com.example.food"))))
            }
        }
    }

    @Test(arguments: [
        (KeyServer.Answer.redirect, "redirects"), (.failure, "responds with the status 500"),
        (.large, "is longer than 256 KiB"),
        (.json(["123": "-----BEGIN CERTIFICATE-----\nMIIC"]), "has certificates"),
        (
            .json(["issuer": "x", "jwks_uri": "https://x.example/keys"]),
            "is a discovery page; use the URL in its jwks_uri"
        ),
        (.json(["keys": [["kty": "oct", "k": "AAAA"]]]), "has no keys for RS256"),
        (.json([]), "is not a JSON Web Key Set"),
    ])
    func `A jwksUrl that never returned keys is reported to users and operators`(
        _ answer: KeyServer.Answer,
        _ words: String
    ) async throws {
        let (issuer, clock) = (KeyServer(), ManualClock())
        issuer.answer.withLock { $0 = answer }
        try await Self.run(issuer, clock) { (server: LiveServer, app: App) async throws in
            func register() async throws -> Reply {
                let fields = Self.fields(TestIssuer.honest.token(at: clock.now))
                return try await server.call(.put, "…/activities/a", ["token": .token(1)], fields)
            }
            func shows(_ path: String, _ text: String) async throws -> Bool {
                try await server.call(.get, path).text.contains(text)
            }
            let reply = try await register()
            #expect(
                reply.status == 503 && reply["detail"].string?.contains(": its jwksUrl \(words)") == true,
                "\(reply.json)"
            )
            #expect(try await shows("/metrics", "\npushreg_issuers_without_keys 1\n"))
            #expect(
                try await shows("/console/com.example.food/sandbox", "The jwksUrl of com.example.food \(words)")
            )
            let finding = await Finding.aboutKeys(of: app, allowsInternal: true)
            #expect(finding?.code == .issuerKeys)
            #expect(finding?.detail.contains(words) == true)
            issuer.answer.withLock { $0 = .keys }
            clock.advance(by: .seconds(60))
            #expect(try await register().status == 201)
            #expect(try await shows("/metrics", "\npushreg_issuers_without_keys 0\n"))
            #expect(try await !shows("/console/com.example.food/sandbox", "The jwksUrl"))
            #expect(await Finding.aboutKeys(of: app, allowsInternal: true) == nil)
        }
    }

    @Test(.secureService) func `Only root sets the source of keys`() async throws {
        let (admin, root) = (try await server.key(.admin), try await server.key(.root))
        func settings(_ url: String, audience: String = "a") -> JSONValue {
            ["jwt": ["issuer": "i", "audience": .string(audience), "jwksUrl": .string(url)]]
        }
        let url = "https://login.example.com/keys"
        #expect(try await server.call(.put, Self.food, settings(url), admin.fields).problem == "forbidden")
        #expect(try await server.call(.put, Self.food, settings(url), root.fields).status == 200)
        let same = settings(url, audience: "b")
        #expect(try await server.call(.put, Self.food, same, admin.fields).status == 200)
        #expect(try await server.call(.put, Self.food, settings(url + "2"), admin.fields).problem == "forbidden")
        for internalURL in ["https://127.0.0.1/k", "https://localhost/k", "http://login.example.com/k"] {
            let reply = try await server.call(.put, Self.food, settings(internalURL), root.fields)
            #expect(reply.problem == "invalid-request /jwt/jwksUrl")
        }
    }

    @Test(.service) func `Given keys must be usable`() async throws {
        var secret = TestIssuer.honest.publicKey(.ec)
        secret["d"] = "AAAA"
        let keys: JSONValue = [.object(TestIssuer.honest.publicKey(.ed)), .object(secret), ["kty": "EC"]]
        let body: JSONValue = ["jwt": ["issuer": "i", "audience": "a", "jwks": ["keys": keys]]]
        #expect(
            try await server.call(.put, Self.food, body).problem
                == "invalid-request /jwt/jwks/keys/1 /jwt/jwks/keys/2"
        )
        let same = JSONValue.array((0..<5).map { _ in .object(TestIssuer.honest.publicKey(.ec)) })
        let many: JSONValue = ["jwt": ["issuer": "i", "audience": "a", "jwks": ["keys": same]]]
        #expect(try await server.call(.put, Self.food, many).problem == "invalid-request /jwt/jwks/keys/4")
        func problem(_ keys: JSONObject...) async throws -> String {
            let keys = JSONValue.array(keys.map { .object($0) })
            let body: JSONValue = ["jwt": ["issuer": "i", "audience": "a", "jwks": ["keys": keys]]]
            return try await server.call(.put, Self.food, body).problem
        }
        #expect(try await problem() == "invalid-request /jwt/jwks/keys")
        // Issuers' key sets contain keys for other uses.
        let rsa = TestIssuer.honest.publicKey(.rsa)
        let encryption = rsa.overlaid(by: ["use": "enc", "alg": "RSA-OAEP"])
        let others: [JSONObject] = [
            encryption, rsa.overlaid(by: ["alg": "RS512"]), rsa.overlaid(by: ["key_ops": ["encrypt"]]),
            ["kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"],
        ]
        for key in others {
            #expect(try await problem(rsa, key) == "")
            #expect(try await problem(key) == "invalid-request /jwt/jwks/keys")
        }
        let wrong = rsa.overlaid(by: ["n": "AAAA"])
        #expect(try await problem(rsa, wrong) == "invalid-request /jwt/jwks/keys/1")
        #expect(try await problem(rsa, encryption.overlaid(by: ["d": "AA"])) == "invalid-request /jwt/jwks/keys/1")
    }
}

final class KeyServer: Sendable {
    enum Answer: Sendable {
        case keys
        case json(JSONValue)
        case failure
        case large
        case redirect
    }

    let answer = Mutex(Answer.keys)
    let redirected = Mutex(0)

    func run(_ body: @Sendable (Int) async throws -> Void) async throws {
        // A name that the service resolves; it uses the first address.
        let configuration = ServerConfiguration(host: "localhost", port: 0)
        try await Listener.run(
            configuration,
            { [self] request in
                guard request.head.path == "/elsewhere" else { return response }
                redirected.withLock { $0 += 1 }
                return Self.response(TestIssuer.honest.keySet.jsonBytes)
            },
            body
        )
    }

    private var response: Response {
        switch answer.withLock({ $0 }) {
        case .keys: Self.response(TestIssuer.honest.keySet.jsonBytes)
        case .json(let value): Self.response(value.jsonBytes)
        case .failure: Response(status: .internalServerError)
        case .large: Self.response([UInt8](repeating: 0x20, count: 1 << 20) + TestIssuer.honest.keySet.jsonBytes)
        case .redirect: Response(status: .found, fields: [.location: "/elsewhere"])
        }
    }

    private static func response(_ bytes: [UInt8]) -> Response { Response(body: .bytes(bytes)) }
}
