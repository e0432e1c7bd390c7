import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(5))) struct FailedCredentialTests {
    private static let path = "…/activities/a"
    private static let network = "9.9.9.9"

    private static func madeUp(_ role: Role = .sender) -> HTTPFields { .bearer(APIKey(random: role).text.revealed) }

    private static let limited = ServiceTrait.timedService {
        $0.failedCredentialRate = RateLimit(rate: 1, burst: 3)
        $0.trustTest()
    }

    @Test(limited) func `Failed credentials of a network are limited, and its valid keys are not`() async throws {
        let (known, new, admin) = try await (server.key(.sender), server.key(.sender), server.key(.admin))
        func call(_ fields: HTTPFields, from address: String = Self.network) async throws -> Reply {
            try await server.call(.get, Self.path, nil, fields.from(address))
        }
        for _ in 0..<5 { #expect(try await call(known.fields).status == 404) }
        let bad = [Self.madeUp(), .bearer("pra_cut_off"), .bearer("a.b.c")]
        for fields in bad { #expect(try await call(fields).status == 401) }
        for fields in bad + [new.fields] {
            let refused = try await call(fields)
            #expect(refused.problem == "too-many-requests")
            #expect(refused.fields[.retryAfter] == "1")
            #expect(refused.fields[.rateLimitPolicy] == "\"credentials\";q=3;w=3")
        }
        #expect(try await call([:]).status == 401)
        // A key that was valid some time ago still passes.
        clock.advance(by: .seconds(4))
        for fields in bad { #expect(try await call(fields).status == 401) }
        #expect(try await call(Self.madeUp()).status == 429)
        #expect(try await call(known.fields).status == 404)
        // A key created on another instance is accepted here.
        #expect(try await call(new.fields, from: "9.9.9.8").status == 404)
        #expect(try await call(new.fields).status == 404)
        #expect(try await call(Self.madeUp(), from: "2a00:1::1").status == 401)
        clock.advance(by: .seconds(1))
        #expect(try await call(Self.madeUp()).status == 401)
        #expect(try await call(Self.madeUp()).status == 429)
        #expect(try await server.measurements(admin.fields)["pushreg_credentials_limited_total"] == 6)
    }

    @Test(limited) func `Failed credentials are limited for every kind`() async throws {
        let admin = try await ConsoleBrowser.signedIn(as: .admin)
        for status in [303, 303, 303, 429] {
            let key = APIKey(random: .admin)
            let session = ConsoleSession(of: key.id.rawValue, at: Date()).sealed(by: key.secretDigest)
            let cookie: HTTPFields = [.cookie: "__Host-pushreg-console=\(session)"]
            #expect(try await server.call(.get, "/console", nil, cookie.from(Self.network)).status == status)
        }
        let probe = try await server.call(.get, "/readyz?verbose", nil, Self.madeUp(.root).from(Self.network))
        #expect(probe.problem == "too-many-requests")
        let guess = ConsoleBrowser()
        guess.fields = guess.fields.from(Self.network)
        #expect(try await guess.signIn(with: TestKey(key: APIKey(random: .admin))).status == 429)
        admin.fields = admin.fields.from(Self.network)
        #expect(try await admin.get("…").status == 200)
    }

    @Test(limited) func `Users are limited like keys`() async throws {
        try await server.acceptUsers()
        func register(_ issuer: TestIssuer, _ token: String, in app: String = "com.example.food") async throws -> Int {
            let path = "/v1/apps/\(app)/sandbox/activities/a"
            let fields = HTTPFields.bearer(token).from(Self.network)
            return try await server.call(.put, path, ["token": .token(1)], fields).status
        }
        let (honest, stranger) = (TestIssuer.honest, TestIssuer.stranger)
        let user = honest.token(at: clock.now)
        #expect(try await register(honest, user) == 201)
        for status in [401, 401, 401, 429] {
            #expect(try await register(stranger, stranger.token(at: clock.now)) == status)
        }
        #expect(try await register(honest, user) == 200)
        #expect(try await register(honest, user, in: "com.example.none") == 429)
        #expect(try await register(honest, honest.token(claims: ["sub": "u-2"], at: clock.now)) == 429)
        clock.advance(by: .seconds(3700))
        for status in [401, 401, 401, 401, 429] { #expect(try await register(honest, user) == status) }
    }

    @Test(.secureService) func `Error texts do not reveal whether an app exists`() async throws {
        _ = try await database.scope("com.example.plain")
        try await server.acceptUsers()
        let (honest, stranger) = (TestIssuer.honest, TestIssuer.stranger)
        func register(_ token: String, in app: String = "com.example.food") async throws -> Reply {
            let fields = HTTPFields.bearer(token).with(RequestID.field, "r")
            return try await server.call(.put, "/v1/apps/\(app)/sandbox/activities/a", ["token": "00"], fields)
        }
        for text in [
            stranger.token(at: Date()), stranger.token(.rsa, at: Date()),
            stranger.token(header: ["kid": .null], at: Date()),
            honest.token(header: ["kid": "none"], at: Date()), honest.token(at: Date()) + "AAAA",
            stranger.token(claims: ["exp": 1, "iss": "x"], at: Date()), "a.b.c", "x",
        ] {
            var answers: Set<[UInt8]> = []
            for app in ["com.example.food", "com.example.plain", "com.example.none"] {
                let reply = try await register(text, in: app)
                #expect(reply.status == 401)
                answers.insert(reply.body)
            }
            #expect(answers.count == 1)
        }
        #expect(try await register(stranger.token(at: Date()))["detail"] == "The credentials are not valid.")
        // A caller with a valid signature gets the cause.
        let late = try await register(honest.token(claims: ["exp": 1], at: Date()))
        #expect(late["detail"] == "The JWT is not valid. Its exp is in the past.")
    }

    /// All failures take the same time. Other callers do not wait.
    @Test func `Timing does not reveal whether an app exists`() async throws {
        let state = Mutex<(now: Duration, waits: [Duration])>((.zero, []))
        // A clock that advances only for waits, and reports their duration.
        let clock = ServiceClock(
            date: { Date() },
            uptime: { state.withLock { $0.now } },
            sleep: { time in state.withLock { $0 = ($0.now + time, $0.waits + [time]) } }
        )
        func waits() -> [Duration] {
            state.withLock { state in
                defer { state.waits = [] }
                return state.waits
            }
        }
        try await ServiceTrait.secureService.run(clock: clock) { server in
            let root = try await server.key(.root)
            for app in ["com.example.food", "com.example.none", "com.example.none"] {
                let path = "/v1/apps/\(app)/sandbox/activities/a"
                for fields in [.bearer(TestIssuer.stranger.token(at: Date())), Self.madeUp(), .bearer("x")] {
                    #expect(try await server.call(.get, path, nil, fields).status == 401)
                    #expect(waits() == [.milliseconds(10)])
                }
            }
            #expect(try await server.call(.get, Self.path, nil, root.fields).status == 404)
            #expect(try await server.call(.get, Self.path).status == 401)
            #expect(try await server.call(.get, "/v1/apps", nil, Self.madeUp()).status == 401)
            #expect(waits() == [])
        }
    }
}
