import Foundation
import HTTPTypes
import RegistryCore
import Synchronization

/// How many requests one caller may make, on each instance.
public struct RateLimit: Sendable, Hashable {
    /// How many a second in the long run.
    public var rate: Int
    /// How many at once.
    public var burst: Int

    /// - Parameter rate: a second; twice as many may come at once.
    public init(rate: Int) {
        self.rate = rate
        burst = rate * 2
    }
}

/// Counts requests by caller in buckets of this instance alone, in a table that cannot grow without bound.
final class RateLimiter: Sendable {
    /// How it stands with one caller after a request, for the fields of draft-ietf-httpapi-ratelimit-headers.
    struct Standing: Sendable, Hashable {
        /// `key`, `address` or `unknown`.
        let policy: String
        let limit: RateLimit
        let remaining: Int
        /// After how long one more may come; nil when this one may.
        let retryAfter: Duration?

        /// The quota over the time in which the whole of it comes back.
        var policyField: String { "\"\(policy)\";q=\(limit.burst);w=\(window)" }
        var field: String { "\"\(policy)\";r=\(remaining);t=\(window)" }
        private var window: Int { max(1, limit.burst / limit.rate) }
    }

    /// How many callers are remembered.
    static let maximumCallers = 100_000

    private let policy: String
    private let limit: RateLimit
    private let clock: ServiceClock
    private let buckets = Mutex<[String: TokenBucket]>([:])

    init(_ policy: String, _ limit: RateLimit, clock: ServiceClock) {
        self.policy = policy
        self.limit = limit
        self.clock = clock
    }

    /// Counts a request.
    func count(_ caller: String) -> Standing {
        let now = clock.uptime()
        return buckets.withLock { buckets in
            if buckets[caller] == nil, buckets.count >= Self.maximumCallers { Self.makeRoom(in: &buckets, at: now) }
            let new = TokenBucket(rate: Double(limit.rate), capacity: Double(limit.burst), at: now)
            let isTaken = buckets[caller, default: new].take(at: now)
            let bucket = buckets[caller] ?? new
            return Standing(
                policy: policy,
                limit: limit,
                remaining: bucket.remaining(at: now),
                retryAfter: isTaken ? nil : bucket.wait(at: now)
            )
        }
    }

    /// Whoever rested long enough to have all of his quota again loses nothing by being forgotten. If nobody did, all
    /// are: for a moment too many may pass, and the memory is bounded.
    private static func makeRoom(in buckets: inout [String: TokenBucket], at now: Duration) {
        buckets = buckets.filter { !$0.value.isFull(at: now) }
        if buckets.count >= maximumCallers { buckets.removeAll(keepingCapacity: true) }
    }
}

/// The limits of an instance: by key or signed-in user, and by the address that a request comes from.
struct RateLimits: Sendable {
    private let keys: RateLimiter?
    private let addresses: RateLimiter?

    init(_ configuration: ServerConfiguration, clock: ServiceClock) {
        keys = configuration.keyRate.map { RateLimiter("key", $0, clock: clock) }
        addresses = configuration.addressRate.map { RateLimiter("address", $0, clock: clock) }
    }

    /// Counts a request against both.
    ///
    /// - Parameter address: asked for where addresses have a limit; nil or loopback is not counted: it is this machine, or a
    ///   proxy that nobody named.
    /// - Returns: the tighter of the two, to be told to the caller.
    /// - Throws: `RateLimited`.
    func count(
        _ principal: Principal,
        from address: @autoclosure () -> IPAddress?
    ) throws(RateLimited) -> RateLimiter.Standing? {
        let byAddress = addresses.flatMap { limiter in
            address().flatMap { $0.isLoopback ? nil : limiter.count($0.limitedAs) }
        }
        if let byAddress, byAddress.retryAfter != nil { throw RateLimited(standing: byAddress) }
        let byKey = principal.limitedAs.flatMap { keys?.count($0) }
        if let byKey, byKey.retryAfter != nil { throw RateLimited(standing: byKey) }
        return [byKey, byAddress].compactMap { $0 }.min { $0.remaining < $1.remaining }
    }
}

/// A caller has made more requests than he may.
struct RateLimited: Error {
    let standing: RateLimiter.Standing

    /// Told to callers who are nobody yet, when more unknown keys and apps are being tried than are looked up.
    static func byUnknown(_ rate: Int) -> RateLimited {
        var limit = RateLimit(rate: rate)
        limit.burst = rate
        return RateLimited(standing: .init(policy: "unknown", limit: limit, remaining: 0, retryAfter: .seconds(1)))
    }

    var problem: Problem {
        var problem = Problem(
            .tooManyRequests,
            "More than \(standing.limit.rate) requests a second \(source). Send this one again after Retry-After."
        )
        problem.retryAfter = standing.retryAfter
        return problem
    }

    private var source: String {
        switch standing.policy {
        case "key": "came from these credentials"
        case "address": "came from this address"
        default: "try keys and apps that nobody knows"
        }
    }
}

extension Principal {
    /// Whose bucket it is: a key's, or a user's of an app. Without authentication there is nobody to be fair to, and
    /// those who are nobody yet must not use up each other's.
    fileprivate var limitedAs: String? {
        guard self != .insecure, self != .anonymous else { return nil }
        return subject.map { "\(app?.rawValue ?? "")\0\($0)" } ?? who
    }
}

extension IPAddress {
    /// Whose bucket it is: an IPv4 address's, or an IPv6 network's of 64 bits, for whoever has one of those has all of it.
    fileprivate var limitedAs: String {
        bytes.count == 4 ? description : IPAddress(bytes: bytes.prefix(8) + [UInt8](repeating: 0, count: 8)).description
    }
}

extension Answer {
    /// The answer that also says how it stands with the caller's limit, where he has one.
    func with(_ standing: RateLimiter.Standing?) -> Answer {
        guard let standing else { return self }
        var answer = self
        answer.fields.add(standing)
        return answer
    }
}

extension HTTPFields {
    /// Says how it stands with the caller's limit.
    mutating func add(_ standing: RateLimiter.Standing) {
        self[HTTPField.Name("RateLimit-Policy")!] = standing.policyField
        self[HTTPField.Name("RateLimit")!] = standing.field
    }
}
