import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct RateLimitTests {
    @Test func `Buckets fill at their rate`() throws {
        var bucket = TokenBucket(rate: 10, capacity: 2, at: .seconds(5))
        #expect((0..<2).map { _ in bucket.count(at: .seconds(5)).wait } == [nil, nil])
        let (remaining, wait) = bucket.count(at: .seconds(5))
        #expect(remaining == 0)
        #expect(abs(try #require(wait) / .milliseconds(1) - 100) < 0.001)
        // A clock that goes back neither adds nor removes tokens.
        #expect([4000, 5101, 5102].map { bucket.count(at: .milliseconds($0)).wait == nil } == [false, true, false])
        #expect(bucket.isFull(at: .seconds(9)))
    }

    @Test func `The table is bounded`() {
        let limiter = RateLimiter("key", RateLimit(rate: 1), "from here", clock: ManualClock().clock)
        func isRefused(_ name: UTF8Text) -> Bool { limiter.count(.name(name)).retryAfter != nil }
        #expect(["x", "x", "x", "y"].map(isRefused) == [false, false, true, false])
        for number in 0..<RateLimiter.maximumCallers { _ = isRefused("\(number)") }
        // No bucket was full, so all were removed to make room.
        #expect(!isRefused("x"))
    }

    @Test(.timedService { $0.keyRate = RateLimit(rate: 2) }) func `Each key is limited on its own`() async throws {
        let (one, other) = try await (server.key(.sender), server.key(.sender))
        func call(_ key: APIKey, _ path: String = "…/activities/a") async throws -> Reply {
            try await server.call(.get, path, nil, key.fields)
        }
        for remaining in [3, 2, 1, 0, nil] {
            let reply = try await call(one, "…/aliases/userId/u/activities")
            #expect(reply.problem == (remaining == nil ? "too-many-requests" : ""))
            #expect(reply.fields[.retryAfter] == (remaining == nil ? "1" : nil))
            #expect(reply.fields[.rateLimit] == "\"key\";r=\(remaining ?? 0);t=2")
            #expect(reply.fields[.rateLimitPolicy] == "\"key\";q=4;w=2")
        }
        #expect(try await call(other).status == 404)
        // A refusal that comes before the limit is unchanged.
        #expect(try await call(one, "/v1/apps").problem == "forbidden")
        #expect(try await call(one, "/v1/apps/com.example.none/sandbox/activities/a").problem == "unknown-app")
        clock.advance(by: .milliseconds(500))
        #expect(try await call(one).status == 404)
        #expect(try await call(one).status == 429)
        #expect(try await server.call(.get, "/livez").status == 200)
    }

    @Test(
        .timedService {
            $0.addressRate = RateLimit(rate: 1)
            $0.trustedProxies = ["127.0.0.0/8", "::1", "10.0.0.0/8"].compactMap { AddressRange($0) }
        }
    )
    func `Addresses are limited behind trusted proxies`() async throws {
        let key = try await server.key(.sender)
        for (hops, status) in [
            ("9.9.9.9", 404), ("1.1.1.1, 9.9.9.9, 10.1.1.1", 404), ("2.2.2.2, 9.9.9.9", 429),
            ("9.9.9.9, 2.2.2.2", 404), ("2a00:1::1", 404), ("2a00:1::2", 404), ("2a00:1::3", 429), ("2a00:2::1", 404),
        ] {
            let reply = try await server.call(.get, "…/activities/a", nil, key.fields.from(hops))
            #expect(reply.status == status, "\(hops)")
        }
    }

    @Test(arguments: [
        ("10.0.0.1", "", "10.0.0.1"), ("10.0.0.1", "1.2.3.4", "1.2.3.4"), ("9.9.9.9", "1.2.3.4", "9.9.9.9"),
        ("10.0.0.1", "1.2.3.4, 5.6.7.8", "5.6.7.8"), ("10.0.0.1", "1.2.3.4,10.0.0.2", "1.2.3.4"),
        ("10.0.0.1", "1.2.3.4, unknown, 10.0.0.2", "10.0.0.2"), ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "1.2.3.4:5678", "1.2.3.4"), ("10.0.0.1", "[2a00::1]:5678", "2a00::1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"), ("10.0.0.1", " , ", "10.0.0.1"),
    ])
    func `The caller is the rightmost non-proxy address`(_ peer: String, _ hops: String, _ expected: String) throws {
        let addresses = ClientAddress(trustedProxies: [try #require(AddressRange("10.0.0.0/8"))])
        let fields: HTTPFields = hops.isEmpty ? [:] : HTTPFields().from(hops)
        #expect(addresses.findAddress(IPAddress(peer), fields)?.description == expected)
    }

    private static let key = Principal(role: .client, who: "prc_1")

    private static func limits() -> RateLimits {
        var configuration = ServerConfiguration()
        (configuration.keyRate, configuration.addressRate) = (RateLimit(rate: 2), nil)
        return RateLimits(configuration, clock: ManualClock().clock)
    }

    @Test func `Networks and installations have allowances of their own`() throws {
        let limits = Self.limits()
        func count(_ address: String, _ installation: String? = nil, by principal: Principal = Self.key) -> Bool {
            let caller = Caller(network: .of(address), installation: installation.map { Array($0.utf8) })
            return (try? limits.count(principal, caller)) != nil
        }
        for _ in 0..<4 { #expect(count("9.9.9.9")) }
        #expect(!count("9.9.9.9") && !count("9.9.9.9", "phone"))
        for _ in 0..<4 { #expect(count("9.9.9.8", "phone")) }
        let refused = #expect(throws: Refusal.self) {
            try limits.count(Self.key, Caller(network: .of("9.9.9.7"), installation: Array("phone".utf8)))
        }
        #expect(refused?.fields[.rateLimitPolicy] == "\"installation\";q=4;w=2")
        #expect(count("9.9.9.7", "another"))
        // A user or a key of another role has a single quota.
        for principal in [
            Principal(role: .sender, who: "prs_1"), Principal(role: .client, who: "user:u", subject: "u"),
        ] { #expect((0..<5).map { count("8.8.8.\($0)", by: principal) } == [true, true, true, true, false]) }
    }

    @Test func `Refused requests do not use the allowance of the key`() throws {
        let limits = Self.limits()
        for number in 0..<100 {
            let caller = Caller(network: .of("9.9.9.\(number)"))
            try limits.count(Self.key, caller).giveBack()
        }
        for number in 0..<40 {
            #expect(throws: Never.self) { try limits.count(Self.key, Caller(network: .of("9.9.8.\(number)"))) }
        }
        let refused = #expect(throws: Refusal.self) { try limits.count(Self.key, Caller(network: .of("9.9.7.7"))) }
        #expect(refused?.fields[.rateLimitPolicy] == "\"key\";q=40;w=2")
    }

    @Test(.timedService { $0.keyRate = RateLimit(rate: 1, burst: 1) })
    func `A refused request returns its allowance`() async throws {
        let key = try await server.key(.client).fields
        func register(_ phone: String, _ token: JSONValue) async throws -> Reply {
            try await server.call(.put, "…/activities/\(phone)", ["token": token], key.on(phone))
        }
        for number in 0..<20 { #expect(try await register("bad-\(number)", "xyz").status == 422) }
        for number in 0..<10 { #expect(try await register("phone-\(number)", .token(number)).status == 201) }
        #expect(try await register("phone-10", .token(10)).problem == "too-many-requests")
    }
}

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
        #expect(try await guess.signIn(with: APIKey(random: .admin)).status == 429)
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
        let strange = try await register(stranger.token(at: Date()))
        #expect(strange["detail"] == "The JWT is not valid. It is not signed by a key of the configured issuer.")
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
