struct TokenBucket: Sendable {
    /// Per second.
    let rate: Double
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

    var whole: Int { Int(level) }

    /// A full bucket equals a new one and need not be kept.
    func isFull(at now: Duration) -> Bool { level(at: now) >= capacity }

    func wait(at now: Duration) -> Duration {
        let missing = 1 - level(at: now)
        return missing <= 0 ? .zero : .seconds(missing / rate)
    }

    private func level(at now: Duration) -> Double {
        min(capacity, level + max(0, (now - levelAt) / .seconds(1)) * rate)
    }
}
