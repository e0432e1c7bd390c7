import RegistryCore

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
        fileprivate var wholeKey: (limiter: RateLimiter, key: RateLimiter.BucketKey)?

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
    /// By what name a caller is counted: a key's, or a user's of an app. Without authentication there is nobody to be fair to,
    /// and those who are nobody yet must not use up each other's.
    var countedName: UTF8Text? {
        guard self != .insecure, self != .anonymous else { return nil }
        return subject.map { "\(app?.rawValue ?? "")\0\($0)" } ?? who
    }

    /// Whether everybody who has the app has these credentials.
    var isPublishableKey: Bool { role == .client && subject == nil }
}
