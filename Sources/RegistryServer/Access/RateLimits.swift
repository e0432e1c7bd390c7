import RegistryCore

/// The limits of an instance: by key or signed-in user, and by network.
///
/// A publishable key is public: its requests count for their network and installation, and the limit of the whole key
/// is so much higher that a few networks cannot exhaust it.
struct RateLimits: Sendable {
    private let keys: RateLimiter?
    private let installations: RateLimiter?
    private let wholeKeys: RateLimiter?
    private let networks: RateLimiter?

    /// The limit of a publishable key as a whole, as a multiple of that of one network.
    static let wholeKeyFactor = 10

    init(_ configuration: ServerConfiguration, clock: ServiceClock) {
        keys = configuration.keyRate.map { RateLimiter("key", $0, clock: clock) }
        installations = configuration.keyRate.map { RateLimiter("installation", $0, clock: clock) }
        wholeKeys = configuration.keyRate.map {
            RateLimiter("key", $0.multiplied(by: Self.wholeKeyFactor), clock: clock)
        }
        networks = configuration.addressRate.map { RateLimiter("address", $0, clock: clock) }
    }

    struct Count: Sendable {
        fileprivate(set) var quota: RateLimiter.QuotaState?
        fileprivate var wholeKey: (limiter: RateLimiter, key: RateLimiter.BucketKey)?

        /// Returns the request's share of the whole publishable key because the request was rejected.
        func giveBack() { if let wholeKey { wholeKey.limiter.giveBack(wholeKey.key) } }
    }

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
    fileprivate func count(_ caller: BucketKey, into tightest: inout QuotaState?) throws(RateLimited) {
        let quota = count(caller)
        guard quota.retryAfter == nil else { throw RateLimited(quota: quota) }
        if let known = tightest, known.remaining <= quota.remaining { return }
        tightest = quota
    }
}

extension RateLimit {
    fileprivate func multiplied(by factor: Int) -> RateLimit { RateLimit(rate: rate * factor, burst: burst * factor) }
}

extension Principal {
    /// A key, or an app's user. Nil without authentication, and for anonymous callers, who must not exhaust each
    /// other's quota.
    var countedName: UTF8Text? {
        guard self != .insecure, self != .anonymous else { return nil }
        return subject.map { "\(app?.rawValue ?? "")\0\($0)" } ?? who
    }

    /// Whether every copy of the app contains these credentials.
    var isPublishableKey: Bool { role == .client && subject == nil }
}
