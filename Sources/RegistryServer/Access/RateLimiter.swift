import Foundation
import RegistryCore
import Synchronization

/// Counts requests by caller in buckets of this instance alone, in a table that cannot grow without bound.
final class RateLimiter: Sendable {
    /// How it stands with one caller after a request, for the fields of draft-ietf-httpapi-ratelimit-headers.
    struct QuotaState: Sendable, Hashable {
        /// `key`, `installation`, `address`, `credentials` or `concurrent`.
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

    /// The caller that is counted.
    enum Subject: Sendable, Hashable {
        case network(CallerNetwork)
        /// A key, or a user.
        case name(UTF8Text)
        case nameFrom(UTF8Text, CallerNetwork)
        case nameAt(UTF8Text, installation: [UInt8])
    }

    /// How many callers are remembered.
    static let maximumCallers = 100_000

    private let policy: String
    private let limit: RateLimit
    private let clock: ServiceClock
    private let buckets = Mutex<[Subject: TokenBucket]>([:])

    init(_ policy: String, _ limit: RateLimit, clock: ServiceClock) {
        self.policy = policy
        self.limit = limit
        self.clock = clock
    }

    /// Counts a request.
    func count(_ caller: Subject) -> QuotaState {
        let now = clock.uptime()
        return buckets.withLock { buckets in
            if buckets[caller] == nil, buckets.count >= Self.maximumCallers { Self.makeRoom(in: &buckets, at: now) }
            let new = TokenBucket(rate: Double(limit.rate), capacity: Double(limit.burst), at: now)
            let isTaken = buckets[caller, default: new].take(at: now)
            let bucket = buckets[caller] ?? new
            return QuotaState(
                policy: policy,
                limit: limit,
                remaining: bucket.remaining(at: now),
                retryAfter: isTaken ? nil : bucket.wait(at: now)
            )
        }
    }

    /// Takes back that a request was counted.
    func giveBack(_ caller: Subject) { buckets.withLock { $0[caller]?.giveBack() } }

    /// Forgets the callers who have all of their quota again: they lose nothing by it. If there are none, forgets all:
    /// for a moment too many requests may pass, and the memory is bounded.
    private static func makeRoom(in buckets: inout [Subject: TokenBucket], at now: Duration) {
        buckets = buckets.filter { !$0.value.isFull(at: now) }
        if buckets.count >= maximumCallers { buckets.removeAll(keepingCapacity: true) }
    }
}

/// The limits of an instance: by key or signed-in user, and by the network that a request comes from.
///
/// A publishable key is in everybody's hands: what one of its bearers sends is counted for the network and the installation
/// that it comes from, and so much more may come in all that no few of them use up what the others need.
struct RateLimits: Sendable {
    private let keys: RateLimiter?
    private let installations: RateLimiter?
    private let wholeKeys: RateLimiter?
    private let networks: RateLimiter?

    /// How many times as much a publishable key may make in all as from one network.
    static let wholeKeyFactor = 10

    init(_ configuration: ServerConfiguration, clock: ServiceClock) {
        keys = configuration.keyRate.map { RateLimiter("key", $0, clock: clock) }
        installations = configuration.keyRate.map { RateLimiter("installation", $0, clock: clock) }
        wholeKeys = configuration.keyRate.map {
            RateLimiter("key", $0.multiplied(by: Self.wholeKeyFactor), clock: clock)
        }
        networks = configuration.addressRate.map { RateLimiter("address", $0, clock: clock) }
    }

    /// How a request was counted.
    struct Count: Sendable {
        /// The tightest of all, to be told to the caller.
        fileprivate(set) var quota: RateLimiter.QuotaState?
        fileprivate var wholeKey: (limiter: RateLimiter, key: RateLimiter.Subject)?

        /// Takes back that a publishable key was counted as a whole, for the request was refused.
        func giveBack() { if let wholeKey { wholeKey.limiter.giveBack(wholeKey.key) } }
    }

    /// Counts a request against all of them.
    ///
    /// - Throws: `RateLimited`.
    func count(_ principal: Principal, _ caller: Caller) throws(RateLimited) -> Count {
        var count = Count()
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

extension RateLimiter {
    /// Counts a request, and keeps the tighter of two states.
    ///
    /// - Throws: `RateLimited`.
    fileprivate func count(_ caller: Subject, into tightest: inout QuotaState?) throws(RateLimited) {
        let quota = count(caller)
        guard quota.retryAfter == nil else { throw RateLimited(quota: quota) }
        if let known = tightest, known.remaining <= quota.remaining { return }
        tightest = quota
    }
}

extension RateLimit {
    fileprivate func multiplied(by factor: Int) -> RateLimit { RateLimit(rate: rate * factor, burst: burst * factor) }
}

/// A caller has made more requests than is fair.
struct RateLimited: Error {
    let quota: RateLimiter.QuotaState
    /// The words for the caller that has too many heavy calls at once; nil where another limit was reached.
    var heavyCaller: String?

    /// The policy of failed credentials.
    static let credentials = "credentials"
    /// The policy of heavy calls.
    static let concurrent = "concurrent"

    /// Told to who has as many heavy calls under way as may be.
    static func byHeavyCalls(of caller: String, limit: Int) -> RateLimited {
        let limit = RateLimit(rate: limit, burst: limit)
        let quota = RateLimiter.QuotaState(
            policy: concurrent,
            limit: limit,
            remaining: 0,
            retryAfter: .seconds(1)
        )
        return RateLimited(quota: quota, heavyCaller: caller)
    }

    var problem: Problem {
        var problem = Problem(.tooManyRequests, "\(reason) Send this one again after Retry-After.")
        problem.retryAfter = quota.retryAfter
        return problem
    }

    private var reason: String {
        if let heavyCaller {
            return "\(quota.limit.burst) heavy calls of \(heavyCaller) are under way, as many as may be at once."
        }
        let rate = "More than \(quota.limit.rate) requests a second"
        return switch quota.policy {
        case "address": "\(rate) came from this address."
        case "installation": "\(rate) came for this installation."
        case Self.credentials: "\(rate) came from this address with credentials that are not valid."
        default: "\(rate) came from these credentials."
        }
    }
}

extension Principal {
    /// By what name a caller is counted: a key's, or a user's of an app. Without authentication there is nobody to be fair to,
    /// and those who are nobody yet must not use up each other's.
    var countedName: UTF8Text? {
        guard self != .insecure, self != .anonymous else { return nil }
        return subject.map { "\(app?.rawValue ?? "")\0\($0)" } ?? who
    }

    /// Whether everybody who has the app has these credentials.
    var isPublishableKey: Bool { role == .client && subject == nil }
}
