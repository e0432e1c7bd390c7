import RegistryCore
import Synchronization

/// Counts requests by caller in buckets of this instance alone, in a table that cannot grow without bound.
final class RateLimiter: Sendable {
    /// How it stands with one caller after a request, for the fields of draft-ietf-httpapi-ratelimit-headers.
    struct QuotaState: Sendable, Hashable {
        let rule: RateRule
        let remaining: Int
        /// After how long one more may come; nil when this one may.
        let retryAfter: Duration?

        var policy: String { rule.policy }
        var limit: RateLimit { rule.limit }
        var policyField: String { rule.field }
        var field: String { "\"\(rule.policy)\";r=\(remaining);t=\(rule.window)" }
    }

    /// The caller that is counted.
    enum BucketKey: Sendable, Hashable {
        case network(CallerNetwork)
        /// A key, or a user.
        case name(UTF8Text)
        case nameFrom(UTF8Text, CallerNetwork)
        case nameAt(UTF8Text, installation: [UInt8])
    }

    /// How many callers are remembered.
    static let maximumCallers = 100_000

    private let rule: RateRule
    private let clock: ServiceClock
    private let buckets = Mutex<[BucketKey: TokenBucket]>([:])

    init(_ policy: String, _ limit: RateLimit, clock: ServiceClock) {
        rule = RateRule(policy, limit)
        self.clock = clock
    }

    /// Counts a request.
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

    /// Takes back that a request was counted.
    func giveBack(_ caller: BucketKey) { buckets.withLock { $0[caller]?.giveBack() } }

    /// Forgets the callers who have all of their quota again: they lose nothing by it. If there are none, forgets all:
    /// for a moment too many requests may pass, and the memory is bounded.
    private static func makeRoom(in buckets: inout [BucketKey: TokenBucket], at now: Duration) {
        buckets = buckets.filter { !$0.value.isFull(at: now) }
        if buckets.count >= maximumCallers { buckets.removeAll(keepingCapacity: true) }
    }
}

/// A limit and the name that answers call it by.
struct RateRule: Sendable, Hashable {
    /// `key`, `installation`, `address`, `credentials` or `concurrent`.
    let policy: String
    let limit: RateLimit
    /// The time in which the whole of the limit comes back, in seconds.
    let window: Int
    /// The quota over the window, as answers tell it.
    let field: String

    init(_ policy: String, _ limit: RateLimit) {
        self.policy = policy
        self.limit = limit
        window = max(1, limit.burst / limit.rate)
        field = "\"\(policy)\";q=\(limit.burst);w=\(window)"
    }
}

extension TokenBucket {
    /// Takes one if there is one, and tells how many are left, and after how long there is one where there was none.
    fileprivate mutating func count(at now: Duration) -> (remaining: Int, wait: Duration?) {
        let isTaken = take(at: now)
        return (whole, isTaken ? nil : wait(at: now))
    }
}
