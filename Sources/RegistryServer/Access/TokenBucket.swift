/// A bucket with a steady inflow up to its capacity; each request takes one.
struct TokenBucket: Sendable {
    /// Inflow per second.
    let rate: Double
    /// The largest burst.
    let capacity: Double
    private var level: Double
    private var levelAt: Duration

    init(rate: Double, capacity: Double, at now: Duration) {
        self.rate = rate
        self.capacity = capacity
        level = capacity
        levelAt = now
    }

    mutating func take(at now: Duration) -> Bool {
        level = level(at: now)
        levelAt = max(levelAt, now)
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    mutating func giveBack() { level = min(capacity, level + 1) }

    /// As of the last request.
    var whole: Int { Int(level) }

    /// As full as a new one, so that it need not be kept.
    func isFull(at now: Duration) -> Bool { level(at: now) >= capacity }

    func wait(at now: Duration) -> Duration {
        let missing = 1 - level(at: now)
        return missing <= 0 ? .zero : .seconds(missing / rate)
    }

    private func level(at now: Duration) -> Double {
        min(capacity, level + max(0, (now - levelAt) / .seconds(1)) * rate)
    }
}
