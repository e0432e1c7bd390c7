/// How many requests may come: a bucket that is filled at a steady rate up to its brim, and from which each takes one.
struct TokenBucket: Sendable {
    /// How much flows in, a second.
    let rate: Double
    /// How much it holds: what may come at once.
    let capacity: Double
    private var level: Double
    private var levelAt: Duration

    init(rate: Double, capacity: Double, at now: Duration) {
        self.rate = rate
        self.capacity = capacity
        level = capacity
        levelAt = now
    }

    /// Takes one if there is one.
    mutating func take(at now: Duration) -> Bool {
        level = level(at: now)
        levelAt = max(levelAt, now)
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    /// Puts one back that was taken and not used.
    mutating func giveBack() { level = min(capacity, level + 1) }

    /// How many there were when the last one was taken.
    var whole: Int { Int(level) }

    /// Whether it is as full as a new one, so that it need not be kept.
    func isFull(at now: Duration) -> Bool { level(at: now) >= capacity }

    /// After how long there is one to take again.
    func wait(at now: Duration) -> Duration {
        let missing = 1 - level(at: now)
        return missing <= 0 ? .zero : .seconds(missing / rate)
    }

    private func level(at now: Duration) -> Double {
        min(capacity, level + max(0, (now - levelAt) / .seconds(1)) * rate)
    }
}
