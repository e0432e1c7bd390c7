import RegistryCore
import Synchronization

/// An instance's limits by key or signed-in user, and by network.
///
/// A publishable key is public. Its requests count by network and installation, and the limit of the complete key is
/// high enough that a few networks cannot exhaust it.
struct RateLimits: Sendable {
    private let keys: RateLimiter?
    private let installations: RateLimiter?
    private let wholeKeys: RateLimiter?
    private let networks: RateLimiter?

    init(_ configuration: ServerConfiguration, clock: ServiceClock) {
        func limiter(_ policy: String, _ limit: RateLimit?, _ origin: String) -> RateLimiter? {
            limit.map { RateLimiter(policy, $0, origin, clock: clock) }
        }
        let rate = configuration.keyRate
        // A complete publishable key may send ten times as much as one network.
        let wholeRate = rate.map { RateLimit(rate: $0.rate * 10, burst: $0.burst * 10) }
        keys = limiter("key", rate, "from these credentials")
        installations = limiter("installation", rate, "for this installation")
        wholeKeys = limiter("key", wholeRate, "from these credentials")
        networks = limiter("address", configuration.addressRate, "from this address")
    }

    func count(_ principal: Principal, _ caller: Caller) throws(Refusal) -> RequestCount {
        var count = RequestCount()
        if let network = caller.network { try networks?.count(.network(network), into: &count.quota) }
        guard let name = principal.countedName else { return count }
        guard principal.isPublishableKey else {
            try keys?.count(.name(name), into: &count.quota)
            return count
        }
        if let network = caller.network { try keys?.count(.nameFrom(name, network), into: &count.quota) }
        if let installation = caller.installation {
            try installations?.count(.nameAt(name, installation: installation), into: &count.quota)
        }
        try wholeKeys?.count(.name(name), into: &count.quota)
        count.wholeKey = wholeKeys.map { ($0, .name(name)) }
        return count
    }
}

struct RequestCount: Sendable {
    fileprivate(set) var quota: RateLimiter.QuotaState?
    fileprivate var wholeKey: (limiter: RateLimiter, key: RateLimiter.BucketKey)?
    var heavyCall: Permit?

    /// A heavy call ends only when its response is read, because unread responses stay in memory.
    func finish(_ response: Response) -> Response {
        var response = response
        if let quota { response.fields.add(quota) }
        response.heavyCall = heavyCall
        return response
    }

    func giveBack() { if let wholeKey { wholeKey.limiter.giveBack(wholeKey.key) } }
}

extension RateLimiter {
    fileprivate func count(_ caller: BucketKey, into tightest: inout QuotaState?) throws(Refusal) {
        let quota = try admit(caller)
        if let known = tightest, known.remaining <= quota.remaining { return }
        tightest = quota
    }
}

extension Principal {
    /// A key, or a signed-in user of an app. Nil for other callers, because they would share a quota.
    var countedName: UTF8Text? {
        guard self != .insecure, self != .anonymous else { return nil }
        return subject.map { "\(app?.rawValue ?? "")\0\($0)" } ?? who
    }

    /// Whether every copy of the app contains the credentials.
    var isPublishableKey: Bool { role == .client && subject == nil }
}

/// Counts requests by caller on this instance, in a table of bounded size.
final class RateLimiter: Sendable {
    /// For the fields of draft-ietf-httpapi-ratelimit-headers.
    struct QuotaState: Sendable, Hashable {
        let rule: RateRule
        let remaining: Int
        /// The wait before the next request. Nil if this request is allowed.
        let retryAfter: Duration?

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
    private let origin: String
    private let metric: Metric?
    private let clock: ServiceClock
    private let buckets = Mutex<[BucketKey: TokenBucket]>([:])

    /// - Parameters:
    ///   - origin: For refusals, such as “from this address”.
    ///   - metric: Counts refusals.
    init(_ policy: String, _ limit: RateLimit, _ origin: String, metric: Metric? = nil, clock: ServiceClock) {
        rule = RateRule(policy, limit)
        self.origin = origin
        self.metric = metric
        self.clock = clock
    }

    func admit(_ caller: BucketKey) throws(Refusal) -> QuotaState {
        let quota = count(caller)
        guard quota.retryAfter == nil else {
            let reason = "More than \(rule.limit.rate) requests per second came \(origin)."
            throw Refusal(quota, reason, metric: metric)
        }
        return quota
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

    /// Takes a token. The wait for the next one is nil if there was one.
    mutating func count(at now: Duration) -> (remaining: Int, wait: Duration?) {
        level = level(at: now)
        levelAt = max(levelAt, now)
        guard level >= 1 else { return (0, .seconds((1 - level) / rate)) }
        level -= 1
        return (Int(level), nil)
    }

    mutating func giveBack() { level = min(capacity, level + 1) }

    /// A full bucket equals a new one and need not be kept.
    func isFull(at now: Duration) -> Bool { level(at: now) >= capacity }

    private func level(at now: Duration) -> Double {
        min(capacity, level + max(0, (now - levelAt) / .seconds(1)) * rate)
    }
}

extension Refusal {
    init(_ quota: RateLimiter.QuotaState, _ reason: String, metric: Metric?) {
        let detail = "\(reason) Send the request again after Retry-After."
        self.init(problem: Problem(.tooManyRequests, detail, retryAfter: quota.retryAfter), metric: metric)
        fields.add(quota)
    }
}

/// Limits concurrent heavy calls by caller. The cost of each call has its own bound.
final class HeavyCalls: Sendable {
    private typealias Share = (owner: RateLimiter.BucketKey, limit: Int, name: String)
    private let limits: ServerConfiguration.HeavyCallLimits
    private let underWay = Mutex<(byOwner: [RateLimiter.BucketKey: Int], all: Int)>(([:], 0))

    init(_ limits: ServerConfiguration.HeavyCallLimits) { self.limits = limits }

    /// - Parameter place: The app and environment of the installation.
    func countCall(_ principal: Principal, _ caller: Caller, in place: String) throws(Refusal) -> Permit {
        let shares = shares(of: principal, caller, place)
        let full: Share? = underWay.withLock { underWay in
            if let full = shares.first(where: { underWay.byOwner[$0.owner, default: 0] >= $0.limit }) { return full }
            for share in shares { underWay.byOwner[share.owner, default: 0] += 1 }
            underWay.all += 1
            return nil
        }
        if let full {
            let rule = RateRule("concurrent", RateLimit(rate: full.limit, burst: full.limit))
            let quota = RateLimiter.QuotaState(rule: rule, remaining: 0, retryAfter: .seconds(1))
            let reason = "\(full.limit) heavy calls of \(full.name) are in progress, which is the maximum."
            throw Refusal(quota, reason, metric: .refusedHeavyCalls)
        }
        return Permit { [self] in end(shares.map(\.owner)) }
    }

    var count: Int { underWay.withLock { $0.all } }

    private func end(_ owners: [RateLimiter.BucketKey]) {
        underWay.withLock { underWay in
            underWay.all -= 1
            for owner in owners {
                let rest = underWay.byOwner[owner, default: 1] - 1
                underWay.byOwner[owner] = rest == 0 ? nil : rest
            }
        }
    }

    private func shares(of principal: Principal, _ caller: Caller, _ place: String) -> [Share] {
        var shares: [Share] = []
        if let installation = caller.installation {
            let owner = RateLimiter.BucketKey.nameAt(UTF8Text(place), installation: installation)
            shares.append((owner, limits.installation, "this installation"))
        }
        if let network = caller.network { shares.append((.network(network), limits.network, "this address")) }
        // A publishable key has no limit as a whole, because a few networks could exhaust it for all users.
        if let name = principal.countedName, !principal.isPublishableKey {
            let limit = principal.role == .client ? limits.user : limits.key
            shares.append((.name(name), limit, "these credentials"))
        }
        return shares
    }
}

/// Counts as in flight until it is finished or deallocated.
final class Permit: Sendable {
    private let end: @Sendable () -> Void
    private let isOver = Atomic(false)
    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { finish() }

    func finish() { if !isOver.exchange(true, ordering: .acquiringAndReleasing) { end() } }
}
