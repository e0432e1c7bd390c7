import RegistryCore

/// An instance's limits by key or signed-in user, and by network.
///
/// A publishable key is public. Its requests count by network and installation, and the limit of the complete key is
/// high enough that a few networks cannot exhaust it.
struct RateLimits: Sendable {
    private let keys: RateLimiter?
    private let installations: RateLimiter?
    private let wholeKeys: RateLimiter?
    private let networks: RateLimiter?

    /// The limit of a complete publishable key, as a multiple of the limit per network.
    static let wholeKeyFactor = 10

    init(_ configuration: ServerConfiguration, clock: ServiceClock) {
        func limiter(_ policy: String, _ limit: RateLimit?) -> RateLimiter? {
            limit.map { RateLimiter(policy, $0, clock: clock) }
        }
        let (rate, factor) = (configuration.keyRate, Self.wholeKeyFactor)
        keys = limiter("key", rate)
        installations = limiter("installation", rate)
        wholeKeys = limiter("key", rate.map { RateLimit(rate: $0.rate * factor, burst: $0.burst * factor) })
        networks = limiter("address", configuration.addressRate)
    }

    func count(_ principal: Principal, _ caller: Caller) throws(RateLimited) -> RequestCount {
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

/// The counters held by a request from its admission to its end.
struct RequestCount: Sendable {
    fileprivate(set) var quota: RateLimiter.QuotaState?
    fileprivate var wholeKey: (limiter: RateLimiter, key: RateLimiter.BucketKey)?
    var heavyCall: Permit?

    /// Ends the counts of the request. A heavy call ends only when its response is read, because unread responses stay
    /// in memory.
    func finish(_ response: Response) -> Response {
        var response = response
        if let quota { response.fields.add(quota) }
        response.heavyCall = heavyCall
        return response
    }

    /// Undoes the count of a rejected request against the complete publishable key.
    func giveBack() { if let wholeKey { wholeKey.limiter.giveBack(wholeKey.key) } }
}

extension RateLimiter {
    fileprivate func count(_ caller: BucketKey, into tightest: inout QuotaState?) throws(RateLimited) {
        let quota = count(caller)
        guard quota.retryAfter == nil else { throw RateLimited(quota: quota) }
        if let known = tightest, known.remaining <= quota.remaining { return }
        tightest = quota
    }
}

extension Principal {
    /// A key, or a signed-in user of an app. Nil without authentication, and for anonymous callers, because they would
    /// share a quota.
    var countedName: UTF8Text? {
        guard self != .insecure, self != .anonymous else { return nil }
        return subject.map { "\(app?.rawValue ?? "")\0\($0)" } ?? who
    }

    /// Whether every copy of the app contains the credentials.
    var isPublishableKey: Bool { role == .client && subject == nil }
}
