import HTTPTypes

extension HTTPFields {
    mutating func add(_ quota: RateLimiter.QuotaState) {
        self[.rateLimitPolicy] = quota.policyField
        self[.rateLimit] = quota.field
    }
}

extension HTTPField.Name {
    fileprivate static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
    static let rateLimit = HTTPField.Name("RateLimit")!
}
