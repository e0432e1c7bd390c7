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
    private static let policy = HTTPField.Name("RateLimit-Policy")!

    private static func bearer(_ text: String) -> HTTPFields { [.authorization: "Bearer \(text)"] }
    private static func madeUp(_ role: Role = .sender) -> HTTPFields { bearer(APIKey(random: role).text.revealed) }

    private static func run(_ clock: ServiceClock, _ test: @Sendable (LiveServer) async throws -> Void) async throws {
        let (database, _) = try await TestDatabase.withScope()
        let service = TestResponder(database.registry, clock: clock) {
            $0.failedCredentialRate = RateLimit(rate: 1, burst: 3)
        }
        try await service.run(database.registry, test)
    }

    @Test func `Failed credentials of a network are limited, and its valid keys are not`() async throws {
        let clock = ManualClock()
        try await Self.run(clock.clock) { server in
            let (known, new, admin) = try await (server.key(.sender), server.key(.sender), server.key(.admin))
            func call(_ fields: HTTPFields, from address: String = "9.9.9.9") async throws -> Reply {
                try await server.call(.get, Self.path, nil, fields.from(address))
            }
            for _ in 0..<5 { #expect(try await call(known.fields).status == 404) }
            let bad = [Self.madeUp(), Self.bearer("pra_cut_off"), Self.bearer("a.b.c")]
            for fields in bad { #expect(try await call(fields).status == 401) }
            for fields in bad + [new.fields] {
                let refused = try await call(fields)
                #expect(refused.problem == "too-many-requests")
                #expect(refused.fields[.retryAfter] == "1")
                #expect(refused.fields[Self.policy] == "\"credentials\";q=3;w=3")
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
            let text = try await server.call(.get, "/metrics", nil, admin.fields).bytes
            #expect(String(decoding: text, as: UTF8.self).contains("pushreg_credentials_limited_total 6\n"))
        }
    }

    @Test func `Failed credentials are limited for every kind`() async throws {
        try await Self.run(ManualClock().clock) { server in
            let admin = try await ConsoleBrowser.signedIn(server, as: .admin)
            func cookie(_ key: APIKey) -> HTTPFields {
                let session = ConsoleSession(of: key.id.rawValue, at: Date())
                return [.cookie: "__Host-pushreg-console=\(session.sealed(by: key.secretDigest))"]
            }
            for _ in 0..<3 {
                let reply = try await server.call(.get, "/console", nil, cookie(APIKey(random: .admin)).from("9.9.9.9"))
                #expect(reply.status == 303)
            }
            let refused = try await server.call(.get, "/console", nil, cookie(APIKey(random: .admin)).from("9.9.9.9"))
            #expect(refused.status == 429)
            let probe = try await server.call(.get, "/readyz?verbose", nil, Self.madeUp(.root).from("9.9.9.9"))
            #expect(probe.problem == "too-many-requests")
            let guess = ConsoleBrowser(server)
            guess.fields[TestResponder.forwarded] = "9.9.9.9"
            #expect(try await guess.signIn(with: TestKey(key: APIKey(random: .admin))).status == 429)
            admin.fields[TestResponder.forwarded] = "9.9.9.9"
            #expect(try await admin.get("…").status == 200)
        }
    }

    @Test func `Users are limited like keys`() async throws {
        let clock = ManualClock()
        try await Self.run(clock.clock) { server in
            let admin = try await server.key(.admin)
            let settings: JSONValue = ["jwt": .object(TestIssuer.honest.settings)]
            let app = "/v1/apps/com.example.food"
            #expect(try await server.call(.put, app, settings, admin.fields).status == 200)
            let user = Self.bearer(TestIssuer.honest.token(at: clock.now))
            func register(_ fields: HTTPFields, in app: String = "com.example.food") async throws -> Int {
                let path = "/v1/apps/\(app)/sandbox/activities/a"
                return try await server.call(.put, path, ["token": .token(1)], fields.from("9.9.9.9")).status
            }
            #expect(try await register(user) == 201)
            for _ in 0..<3 { #expect(try await register(Self.bearer(TestIssuer.stranger.token(at: clock.now))) == 401) }
            #expect(try await register(Self.bearer(TestIssuer.stranger.token(at: clock.now))) == 429)
            #expect(try await register(user) == 200)
            #expect(try await register(user, in: "com.example.none") == 429)
            let another = Self.bearer(TestIssuer.honest.token(claims: ["sub": "u-2"], at: clock.now))
            #expect(try await register(another) == 429)
            clock.advance(by: .seconds(3700))
            for _ in 0..<4 { #expect(try await register(user) == 401) }
            #expect(try await register(user) == 429)
            let events = try await server.call(.get, "…/audit/events?subject=u-1", nil, admin.fields)
            #expect(events["events"][0]["who"] == "user:u-1" && events["events"][0]["subject"] == "u-1")
        }
    }

    @Test func `Error texts do not reveal whether an app exists`() async throws {
        let database = try await TestDatabase.make()
        _ = try await (database.scope(), database.scope("com.example.plain"))
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { server in
            let admin = try await server.key(.admin)
            let settings: JSONValue = ["jwt": .object(TestIssuer.honest.settings)]
            #expect(try await server.call(.put, "/v1/apps/com.example.food", settings, admin.fields).status == 200)
            let (honest, stranger) = (TestIssuer.honest, TestIssuer.stranger)
            let forged = [
                stranger.token(at: Date()), stranger.token(.rsa, at: Date()),
                stranger.token(header: ["kid": .null], at: Date()),
                honest.token(header: ["kid": "none"], at: Date()), honest.token(at: Date()) + "AAAA",
                stranger.token(claims: ["exp": 1, "iss": "x"], at: Date()), "a.b.c", "x",
            ]
            for text in forged {
                var answers: Set<[UInt8]> = []
                for app in ["com.example.food", "com.example.plain", "com.example.none"] {
                    let fields = Self.bearer(text).merging([RequestID.field: "r"])
                    let path = "/v1/apps/\(app)/sandbox/activities/a"
                    let reply = try await server.call(.put, path, ["token": "00"], fields)
                    #expect(reply.status == 401)
                    answers.insert(reply.bytes)
                }
                #expect(answers.count == 1)
            }
            let bad = try await server.call(.put, Self.path, ["token": "00"], Self.bearer(forged[0]))
            #expect(bad["detail"] == "The credentials are not valid.")
            // A caller with a valid signature gets the cause.
            let late = honest.token(claims: ["exp": 1], at: Date())
            let told = try await server.call(.put, Self.path, ["token": "00"], Self.bearer(late))
            #expect(told["detail"] == "The JWT is not valid. Its exp is in the past.")
        }
    }

    /// A clock that advances only for waits, and reports their duration.
    private final class Waits: Sendable {
        let state = Mutex<(now: Duration, waits: [Duration])>((.zero, []))

        var clock: ServiceClock {
            ServiceClock(
                date: { Date() },
                uptime: { self.state.withLock { $0.now } },
                sleep: { time in
                    self.state.withLock { state in
                        state.now += time
                        state.waits.append(time)
                    }
                }
            )
        }

        func take() -> [Duration] {
            state.withLock { state in
                defer { state.waits = [] }
                return state.waits
            }
        }
    }

    /// All failures take the same time. Other callers do not wait.
    @Test func `Timing does not reveal whether an app exists`() async throws {
        let waits = Waits()
        try await LiveServer.run(insecureNoAuth: false, clock: waits.clock) { server in
            let root = try await server.key(.root)
            for app in ["com.example.food", "com.example.none", "com.example.none"] {
                for fields in [Self.bearer(TestIssuer.stranger.token(at: Date())), Self.madeUp(), Self.bearer("x")] {
                    #expect(
                        try await server.call(.get, "/v1/apps/\(app)/sandbox/activities/a", nil, fields).status == 401
                    )
                    #expect(waits.take() == [.milliseconds(10)])
                }
            }
            #expect(try await server.call(.get, Self.path, nil, root.fields).status == 404)
            #expect(try await server.call(.get, Self.path).status == 401)
            #expect(try await server.call(.get, "/v1/apps", nil, Self.madeUp()).status == 401)
            #expect(waits.take() == [])
        }
    }

    @Test(.secureService) func `Invented names delay no caller`() async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<300 {
                let path = number % 2 == 0 ? Self.path : "/v1/apps/com.example.n\(number)/sandbox/activities/a"
                group.addTask { try await server.call(.get, path, nil, Self.madeUp()).status }
            }
            for try await status in group { #expect(status == 401) }
        }
        #expect(try await server.call(.get, Self.path, nil, server.key(.sender).fields).status == 404)
    }
}

extension HTTPFields {
    fileprivate func merging(_ others: HTTPFields) -> HTTPFields {
        var fields = self
        for field in others { fields[field.name] = field.value }
        return fields
    }
}
