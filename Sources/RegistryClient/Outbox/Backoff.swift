/// How long to wait before the same is tried again.
enum Backoff {
    static let longest = Duration.seconds(300)
    /// For a refusal that only a change of settings or of the program mends.
    static let afterRefusal = Duration.seconds(3600)
    /// How long such a report is kept.
    static let keptWhenRefused = Duration.seconds(24 * 3600)

    /// One second, doubled with every try up to five minutes; half of it is random, so that phones do not come all at once.
    ///
    /// - Parameters:
    ///   - count: how often it was tried.
    ///   - jitter: random, from 0 to 1.
    static func pause(after count: Int, jitter: Double) -> Duration {
        let whole = min(Duration.seconds(1 << min(max(count - 1, 0), 20)), longest)
        return whole / 2 + whole / 2 * min(max(jitter, 0), 1)
    }
}
