import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct RateLimitTests {
    private static let forwarded = HTTPField.Name("X-Forwarded-For")!
    private static let rate = HTTPField.Name("RateLimit")!
    private static let policy = HTTPField.Name("RateLimit-Policy")!

    @Test func `Buckets fill at their rate`() {
        var bucket = TokenBucket(rate: 10, capacity: 2, at: .seconds(5))
        let first = [bucket.take(at: .seconds(5)), bucket.take(at: .seconds(5)), bucket.take(at: .seconds(5))]
        #expect(first == [true, true, false])
        #expect(abs(bucket.wait(at: .seconds(5)) / .milliseconds(1) - 100) < 0.001)
        // A clock that goes back neither adds nor removes tokens.
        let second = [
            bucket.take(at: .seconds(4)), bucket.take(at: .milliseconds(5101)), bucket.take(at: .milliseconds(5102)),
        ]
        #expect(second == [false, true, false])
        #expect(bucket.whole == 0)
        #expect(bucket.isFull(at: .seconds(9)))
    }

    @Test func `The table is bounded`() {
        let clock = ManualClock()
        let limiter = RateLimiter("key", RateLimit(rate: 1), clock: clock.clock)
        #expect(limiter.count(.name("x")).retryAfter == nil)
        #expect(limiter.count(.name("x")).retryAfter == nil)
        #expect(limiter.count(.name("x")).retryAfter != nil)
        #expect(limiter.count(.name("y")).retryAfter == nil)
        for number in 0..<RateLimiter.maximumCallers { _ = limiter.count(.name("\(number)")) }
        // No bucket was full, so all were removed to make room.
        #expect(limiter.count(.name("x")).retryAfter == nil)
    }

    @Test(.timedService { $0.keyRate = RateLimit(rate: 2) })
    func `Each key is limited on its own`() async throws {
        let (one, other) = (try await server.key(.sender), try await server.key(.sender))
        func call(_ key: TestKey, _ path: String = "…/activities/a") async throws -> Reply {
            try await server.call(.get, path, nil, key.fields)
        }
        for remaining in [3, 2, 1, 0] {
            let reply = try await call(one, "…/aliases/userId/u/activities")
            #expect(reply.status == 200)
            #expect(reply.fields[Self.rate] == "\"key\";r=\(remaining);t=2")
            #expect(reply.fields[Self.policy] == "\"key\";q=4;w=2")
        }
        let refused = try await call(one)
        #expect(refused.problem == "too-many-requests")
        #expect(refused.fields[.retryAfter] == "1")
        #expect(refused.fields[Self.rate] == "\"key\";r=0;t=2")
        #expect(refused.fields[Self.policy] == "\"key\";q=4;w=2")
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
        func status(_ hops: String) async throws -> Int {
            var fields = key.fields
            fields[Self.forwarded] = hops
            return try await server.call(.get, "…/activities/a", nil, fields).status
        }
        #expect(try await status("9.9.9.9") == 404)
        #expect(try await status("1.1.1.1, 9.9.9.9, 10.1.1.1") == 404)
        #expect(try await status("2.2.2.2, 9.9.9.9") == 429)
        #expect(try await status("9.9.9.9, 2.2.2.2") == 404)
        #expect(try await status("2a00:1::1") == 404)
        #expect(try await status("2a00:1::2") == 404)
        #expect(try await status("2a00:1::3") == 429)
        #expect(try await status("2a00:2::1") == 404)
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
        let fields: HTTPFields = hops.isEmpty ? [:] : [Self.forwarded: hops]
        #expect(addresses.findAddress(IPAddress(peer), fields)?.description == expected)
    }
}
