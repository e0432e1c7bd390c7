import HTTPTypes

extension AnswerHead {
    /// The answer that also says how it stands with the caller's limit, where there is one.
    func with(_ quota: RateLimiter.QuotaState?) -> Self {
        guard let quota else { return self }
        var answer = self
        answer.fields.add(quota)
        return answer
    }
}

extension HTTPFields {
    /// Says how it stands with the caller's limit.
    mutating func add(_ quota: RateLimiter.QuotaState) {
        self[.rateLimitPolicy] = quota.policyField
        self[.rateLimit] = quota.field
    }
}

extension HTTPField.Name {
    /// The fields of draft-ietf-httpapi-ratelimit-headers.
    fileprivate static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
    static let rateLimit = HTTPField.Name("RateLimit")!
}
