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

struct TokenBucket: Sendable {
    /// Per second.
    let rate: Double
    let capacity: Double
    private var level: Double
    private var levelAt: Duration

    init(rate: Double, capacity: Double, at now: Duration) {
        self.rate = rate
        self.capacity = capacity
        level = capacity
        levelAt = now
    }

    mutating func take(at now: Duration) -> Bool {
        level = level(at: now)
        levelAt = max(levelAt, now)
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    mutating func count(at now: Duration) -> (remaining: Int, wait: Duration?) {
        let isTaken = take(at: now)
        return (whole, isTaken ? nil : wait(at: now))
    }

    mutating func giveBack() { level = min(capacity, level + 1) }

    var whole: Int { Int(level) }

    /// A full bucket equals a new one and need not be kept.
    func isFull(at now: Duration) -> Bool { level(at: now) >= capacity }

    func wait(at now: Duration) -> Duration {
        let missing = 1 - level(at: now)
        return missing <= 0 ? .zero : .seconds(missing / rate)
    }

    private func level(at now: Duration) -> Double {
        min(capacity, level + max(0, (now - levelAt) / .seconds(1)) * rate)
    }
}

struct RateLimited: Error {
    let quota: RateLimiter.QuotaState
    /// The caller with too many heavy calls. Nil for other limits.
    var heavyCaller: String?
    static let credentials = "credentials"
    static let concurrent = "concurrent"

    static func byHeavyCalls(of caller: String, limit: Int) -> RateLimited {
        let rule = RateRule(concurrent, RateLimit(rate: limit, burst: limit))
        let quota = RateLimiter.QuotaState(rule: rule, remaining: 0, retryAfter: .seconds(1))
        return RateLimited(quota: quota, heavyCaller: caller)
    }

    var problem: Problem {
        var problem = Problem(.tooManyRequests, "\(reason) Send the request again after Retry-After.")
        problem.retryAfter = quota.retryAfter
        return problem
    }

    private var reason: String {
        if let heavyCaller {
            return "\(quota.rule.limit.burst) heavy calls of \(heavyCaller) are in progress, which is the maximum."
        }
        let rate = "More than \(quota.rule.limit.rate) requests per second"
        return switch quota.policy {
        case "address": "\(rate) came from this address."
        case "installation": "\(rate) came for this installation."
        case Self.credentials: "\(rate) came from this address with credentials that are not valid."
        default: "\(rate) came from these credentials."
        }
    }
}
