import HTTPTypes
import RegistryCore
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
        let limiter = RateLimiter("key", RateLimit(rate: 1), clock: ManualClock().clock)
        func isRefused(_ name: UTF8Text) -> Bool { limiter.count(.name(name)).retryAfter != nil }
        #expect(["x", "x", "x", "y"].map(isRefused) == [false, false, true, false])
        for number in 0..<RateLimiter.maximumCallers { _ = isRefused("\(number)") }
        // No bucket was full, so all were removed to make room.
        #expect(!isRefused("x"))
    }

    @Test(.timedService { $0.keyRate = RateLimit(rate: 2) })
    func `Each key is limited on its own`() async throws {
        let (one, other) = try await (server.key(.sender), server.key(.sender))
        func call(_ key: TestKey, _ path: String = "…/activities/a") async throws -> Reply {
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

    // MARK: - Quotas of a publishable key, which every copy of the app contains

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
        let refused = #expect(throws: RateLimited.self) {
            try limits.count(Self.key, Caller(network: .of("9.9.9.7"), installation: Array("phone".utf8)))
        }
        #expect(refused?.quota.rule.field == "\"installation\";q=4;w=2")
        #expect(count("9.9.9.7", "another"))
        // A user or a key of another role has a single quota.
        for principal in [
            Principal(role: .sender, who: "prs_1"), Principal(role: .client, who: "user:u", subject: "u"),
        ] {
            #expect((0..<5).map { count("8.8.8.\($0)", by: principal) } == [true, true, true, true, false])
        }
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
        let refused = #expect(throws: RateLimited.self) { try limits.count(Self.key, Caller(network: .of("9.9.7.7"))) }
        #expect(refused?.quota.rule.field == "\"key\";q=40;w=2")
    }

    @Test(.timedService { $0.keyRate = RateLimit(rate: 1, burst: 1) })
    func `A refused request returns its allowance`() async throws {
        let key = try await server.key(.client).fields
        func register(_ phone: String, _ token: JSONValue) async throws -> Reply {
            try await server.call(.put, "…/activities/\(phone)", ["token": token], key.on(phone))
        }
        for number in 0..<20 {
            #expect(try await register("bad-\(number)", "xyz").status == 422)
        }
        for number in 0..<10 { #expect(try await register("phone-\(number)", .token(number)).status == 201) }
        #expect(try await register("phone-10", .token(10)).problem == "too-many-requests")
    }
}
