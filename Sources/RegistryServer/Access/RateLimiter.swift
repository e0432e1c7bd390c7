import RegistryCore
import Synchronization

/// Counts requests by caller on this instance, in a table of bounded size.
final class RateLimiter: Sendable {
    /// For the fields of draft-ietf-httpapi-ratelimit-headers.
    struct QuotaState: Sendable, Hashable {
        let rule: RateRule
        let remaining: Int
        /// The wait before the next request. Nil if this request is allowed.
        let retryAfter: Duration?

        var policy: String { rule.policy }
        var limit: RateLimit { rule.limit }
        var policyField: String { rule.field }
        var field: String { "\"\(rule.policy)\";r=\(remaining);t=\(rule.window)" }
    }

    enum BucketKey: Sendable, Hashable {
        case network(CallerNetwork)
        case name(UTF8Text)
        case nameFrom(UTF8Text, CallerNetwork)
        case nameAt(UTF8Text, installation: [UInt8])
    }

    static let maximumCallers = 100_000

    private let rule: RateRule
    private let clock: ServiceClock
    private let buckets = Mutex<[BucketKey: TokenBucket]>([:])

    init(_ policy: String, _ limit: RateLimit, clock: ServiceClock) {
        rule = RateRule(policy, limit)
        self.clock = clock
    }

    func count(_ caller: BucketKey) -> QuotaState {
        let now = clock.uptime()
        let (remaining, wait) = buckets.withLock { buckets -> (remaining: Int, wait: Duration?) in
            if let index = buckets.index(forKey: caller) { return buckets.values[index].count(at: now) }
            if buckets.count >= Self.maximumCallers { Self.makeRoom(in: &buckets, at: now) }
            var bucket = TokenBucket(rate: Double(rule.limit.rate), capacity: Double(rule.limit.burst), at: now)
            let count = bucket.count(at: now)
            buckets[caller] = bucket
            return count
        }
        return QuotaState(rule: rule, remaining: remaining, retryAfter: wait)
    }

    func giveBack(_ caller: BucketKey) { buckets.withLock { $0[caller]?.giveBack() } }

    /// Forgets callers with a full quota, which has no effect. Without any, forgets all callers: some exceed their
    /// quota briefly, but memory stays bounded.
    private static func makeRoom(in buckets: inout [BucketKey: TokenBucket], at now: Duration) {
        buckets = buckets.filter { !$0.value.isFull(at: now) }
        if buckets.count >= maximumCallers { buckets.removeAll(keepingCapacity: true) }
    }
}

struct RateRule: Sendable, Hashable {
    /// `key`, `installation`, `address`, `credentials` or `concurrent`.
    let policy: String
    let limit: RateLimit
    /// Seconds until an empty quota is full again.
    let window: Int
    let field: String

    init(_ policy: String, _ limit: RateLimit) {
        self.policy = policy
        self.limit = limit
        window = max(1, limit.burst / limit.rate)
        field = "\"\(policy)\";q=\(limit.burst);w=\(window)"
    }
}

extension TokenBucket {
    fileprivate mutating func count(at now: Duration) -> (remaining: Int, wait: Duration?) {
        let isTaken = take(at: now)
        return (whole, isTaken ? nil : wait(at: now))
    }
}
