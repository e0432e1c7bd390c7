/// How many requests one caller may make, on each instance.
package struct RateLimit: Sendable, Hashable {
    /// How many a second in the long run.
    package var rate: Int
    /// How many at once.
    package var burst: Int

    /// - Parameter rate: a second; twice as many may come at once.
    package init(rate: Int) { self.init(rate: rate, burst: rate * 2) }

    /// - Parameters:
    ///   - rate: a second.
    ///   - burst: at once.
    package init(rate: Int, burst: Int) {
        self.rate = rate
        self.burst = burst
    }
}
