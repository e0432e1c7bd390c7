import RegistryCore

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
            return "\(quota.limit.burst) heavy calls of \(heavyCaller) are in progress, which is the maximum."
        }
        let rate = "More than \(quota.limit.rate) requests per second"
        return switch quota.policy {
        case "address": "\(rate) came from this address."
        case "installation": "\(rate) came for this installation."
        case Self.credentials: "\(rate) came from this address with credentials that are not valid."
        default: "\(rate) came from these credentials."
        }
    }
}
