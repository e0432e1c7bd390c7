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

    /// Registers an activity as a user of the issuer.
    private static func register(_ issuer: TestIssuer = .honest, at time: Date = Date()) async throws -> Reply {
        try await server.call(.put, "…/activities/a", ["token": .token(1)], .bearer(issuer.token(at: time)))
    }

    @Test(.secureService) func `Events name the user, and a JWT is valid for calls of its app only`() async throws {
        try await server.acceptUsers()
        #expect(try await Self.register().status == 201)
        let admin = try await server.key(.admin).fields
        let events = try await server.call(.get, "…/audit/events?subject=u-1", nil, admin)["events"]
        #expect(events[0]["who"] == "user:u-1")
        #expect(events[0]["subject"] == "u-1")
        let user = HTTPFields.bearer(TestIssuer.honest.token(at: Date()))
        #expect(try await server.call(.get, "/readyz?verbose", nil, user).problem == "unauthenticated")
    }

    @Test(.secureService) func `Changed settings of the app apply to a cached JWT at once`() async throws {
        let (admin, user) = (try await server.key(.admin), HTTPFields.bearer(TestIssuer.honest.token(at: Date())))
        func set(_ audience: JSONValue) async throws {
            let settings = TestIssuer.honest.settings.overlaid(by: ["audience": audience])
            #expect(try await server.call(.put, Self.food, ["jwt": .object(settings)], admin.fields).status == 200)
            // Another caller refreshes the app's cache entry before the user's call.
            #expect(try await server.call(.get, "…/aliases/orderId/o/activities", nil, admin.fields).status == 200)
        }
        // The second call is answered from the caches.
        for (audience, statuses) in [
            (TestIssuer.audience, [201, 200, 200]), ("another", [401, 401]), (TestIssuer.audience, [200]),
        ] {
            try await set([.string(audience)])
            for status in statuses {
                let reply = try await server.call(.put, "…/activities/a", ["token": .token(1)], user)
                #expect(reply.status == status)
            }
        }
    }

    private static let keyService = ServiceTrait.timedService {
        ($0.insecureNoAuth, $0.allowsInternalJWKS) = (true, true)
    }

    /// Runs an issuer, and lets its users sign in to the app.
    private static func run(_ test: (KeyServer) async throws -> Void) async throws {
        let issuer = KeyServer()
        try await issuer.run { port in
            let settings = TestIssuer.settings(keysAt: "http://localhost:\(port)/keys")
            #expect(try await server.call(.put, food, ["jwt": .object(settings)]).status == 200)
            try await test(issuer)
        }
    }

    @Test(keyService) func `Keys are fetched from the issuer`() async throws {
        try await Self.run { issuer in
            issuer.answer(.redirect)
            let reply = try await Self.register(at: clock.now)
            #expect(reply.status == 503)
            clock.advance(by: .seconds(60))
            issuer.answer(.keys)
            #expect(try await Self.register(at: clock.now).status == 201)
            #expect(try await Self.register(.stranger, at: clock.now).status == 401)
            for answer in [KeyServer.Answer.failure, .large, .redirect] {
                issuer.answer(answer)
                for _ in 0..<20 {
                    clock.advance(by: .seconds(60))
                    #expect(try await Self.register(at: clock.now).status == 200)
                }
            }
            #expect(issuer.redirected.withLock { $0 } == 0)
        }
    }

    @Test(
        keyService,
        arguments: [
            (.redirect, "redirects"), (.failure, "responds with the status 500"), (.large, "is longer than 256 KiB"),
            (.json(["123": "-----BEGIN CERTIFICATE-----\nMIIC"]), "has certificates"),
            (
                .json(["issuer": "x", "jwks_uri": "https://x.example/keys"]),
                "is a discovery page; use the URL in its jwks_uri"
            ),
            (.json(["keys": [["kty": "oct", "k": "AAAA"]]]), "has no keys for RS256"),
            (.json([]), "is not a JSON Web Key Set"),
        ] as [(KeyServer.Answer, String)]
    )
    func `A jwksUrl that never returned keys is reported to users and operators`(
        _ answer: KeyServer.Answer,
        _ words: String
    ) async throws {
        try await Self.run { issuer in
            issuer.answer(answer)
            let app = try #require(try await server.registry.app(BundleID("com.example.food")))
            for isFaulty in [true, false] {
                let reply = try await Self.register(at: clock.now)
                let isExplained = reply["detail"].string?.contains(": its jwksUrl \(words)") == true
                #expect(reply.status == (isFaulty ? 503 : 201) && isExplained == isFaulty, "\(reply.json)")
                #expect(try await server.measurements()["pushreg_issuers_without_keys"] == (isFaulty ? 1 : 0))
                let page = try await server.call(.get, "/console/com.example.food/sandbox")
                #expect(page.text.contains("The jwksUrl of com.example.food \(words)") == isFaulty)
                let finding = await Finding.aboutKeys(of: app, allowsInternal: true)
                #expect(finding?.code == (isFaulty ? .issuerKeys : nil))
                #expect(!isFaulty || finding?.detail.contains(words) == true)
                issuer.answer(.keys)
                clock.advance(by: .seconds(60))
            }
        }
    }

    @Test func `Keys that arrive one byte at a time are refused`() async throws {
        let issuer = KeyServer()
        issuer.answer(.slow)
        try await issuer.run { port in
            let fetcher = KeySetFetcher(allowsInternal: true, deadline: .milliseconds(200))
            await #expect(throws: JSONFaultReason("did not answer in time")) {
                try await fetcher.fetch("http://localhost:\(port)/keys")
            }
        }
    }

    @Test(.secureService) func `Only root sets the source of keys`() async throws {
        let (admin, root) = try await (server.key(.admin), server.key(.root))
        let url = "https://login.example.com/keys"
        for (key, url, audience, problem) in [
            (admin, url, "a", "forbidden"), (root, url, "a", ""), (admin, url, "b", ""),
            (admin, url + "2", "b", "forbidden"), (root, "https://127.0.0.1/k", "b", "invalid-request /jwt/jwksUrl"),
            (root, "https://localhost/k", "b", "invalid-request /jwt/jwksUrl"),
            (root, "http://login.example.com/k", "b", "invalid-request /jwt/jwksUrl"),
        ] {
            let settings: JSONValue = ["jwt": ["issuer": "i", "audience": .string(audience), "jwksUrl": .string(url)]]
            #expect(try await server.call(.put, Self.food, settings, key.fields).problem == problem, "\(url)")
        }
    }

    @Test(.service) func `Given keys must be usable`() async throws {
        func problem(_ keys: [JSONObject]) async throws -> String {
            let keys = JSONValue.array(keys.map { .object($0) })
            let body: JSONValue = ["jwt": ["issuer": "i", "audience": "a", "jwks": ["keys": keys]]]
            return try await server.call(.put, Self.food, body).problem
        }
        let (ec, rsa) = (TestIssuer.honest.publicKey(.ec), TestIssuer.honest.publicKey(.rsa))
        let encryption = rsa.overlaid(by: ["use": "enc", "alg": "RSA-OAEP"])
        let cases: [(keys: [JSONObject], faults: [String])] = [
            ([TestIssuer.honest.publicKey(.ed), ec.overlaid(by: ["d": "AAAA"]), ["kty": "EC"]], ["/1", "/2"]),
            ([ec, ec, ec, ec, ec], ["/4"]), ([], [""]), ([rsa, rsa.overlaid(by: ["n": "AAAA"])], ["/1"]),
            ([rsa, encryption.overlaid(by: ["d": "AA"])], ["/1"]),
        ]
        for (keys, faults) in cases {
            let pointers = faults.map { " /jwt/jwks/keys\($0)" }.joined()
            #expect(try await problem(keys) == "invalid-request\(pointers)")
        }
        // Issuers' key sets contain keys for other uses.
        for key in [
            encryption, rsa.overlaid(by: ["alg": "RS512"]), rsa.overlaid(by: ["key_ops": ["encrypt"]]),
            ["kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"],
        ] {
            #expect(try await problem([rsa, key]) == "")
            #expect(try await problem([key]) == "invalid-request /jwt/jwks/keys")
        }
    }
}

final class KeyServer: Sendable {
    enum Answer: Sendable {
        case keys
        case json(JSONValue)
        case failure
        case large
        case redirect
        case slow
    }

    /// A space every few milliseconds, without an end.
    private struct Spaces: ResponseStream {
        func write(to writer: Exchange) async throws {
            while true {
                try await writer.write(ByteBuffer(string: " "))
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    private let answer = Mutex(Answer.keys)
    let redirected = Mutex(0)

    func answer(_ answer: Answer) { self.answer.withLock { $0 = answer } }

    func run(_ body: (Int) async throws -> Void) async throws {
        // A name that the service resolves; it uses the first address.
        let configuration = ServerConfiguration(host: "localhost", port: 0)
        let respond: RequestHandler.Respond = { [self] request in
            if request.head.path == "/elsewhere" { redirected.withLock { $0 += 1 } }
            let keys = TestIssuer.honest.keySet.jsonBytes
            return switch request.head.path == "/elsewhere" ? .keys : answer.withLock(\.self) {
            case .keys: Response(body: .bytes(keys))
            case .json(let value): Response(body: .bytes(value.jsonBytes))
            case .failure: Response(status: .internalServerError)
            case .large: Response(body: .bytes([UInt8](repeating: 0x20, count: 1 << 20) + keys))
            case .redirect: Response(status: .found, fields: [.location: "/elsewhere"])
            case .slow: .stream(Spaces())
            }
        }
        try await Listener.run(configuration, respond, body)
    }
}
