import RegistryCore

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
        let rule = RateRule(concurrent, RateLimit(rate: limit, burst: limit))
        let quota = RateLimiter.QuotaState(rule: rule, remaining: 0, retryAfter: .seconds(1))
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
