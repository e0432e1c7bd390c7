package struct RateLimit: Sendable, Hashable {
    /// Sustained requests per second.
    package var rate: Int
    /// Requests at once.
    package var burst: Int

    /// Allows a burst of twice the rate.
    package init(rate: Int) { self.init(rate: rate, burst: rate * 2) }

    package init(rate: Int, burst: Int) {
        self.rate = rate
        self.burst = burst
    }
}
