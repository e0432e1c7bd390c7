/// How many requests one caller may make, on each instance.
public struct RateLimit: Sendable, Hashable {
    /// How many a second in the long run.
    public var rate: Int
    /// How many at once.
    public var burst: Int

    /// - Parameter rate: a second; twice as many may come at once.
    public init(rate: Int) { self.init(rate: rate, burst: rate * 2) }

    /// - Parameters:
    ///   - rate: a second.
    ///   - burst: at once.
    public init(rate: Int, burst: Int) {
        self.rate = rate
        self.burst = burst
    }
}
