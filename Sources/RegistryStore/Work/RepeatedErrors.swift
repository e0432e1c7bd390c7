import Synchronization

/// Limits repeated errors in the log: while Postgres is away there is a line a second instead of one per request.
final class RepeatedErrors: Sendable {
    private struct Entry {
        var loggedAt: ContinuousClock.Instant
        var unlogged = 0
    }

    static let interval = Duration.seconds(1)

    private let entries = Mutex<[String: Entry]>([:])

    /// The number of similar errors that were not logged since the last one; nil if this one is not to be logged
    /// either.
    ///
    /// - Parameter kind: one of few, shared by similar errors.
    func admit(_ kind: String, now: ContinuousClock.Instant = .now) -> Int? {
        entries.withLock { entries in
            guard let entry = entries[kind], now - entry.loggedAt < Self.interval else {
                return entries.updateValue(Entry(loggedAt: now), forKey: kind)?.unlogged ?? 0
            }
            entries[kind]?.unlogged += 1
            return nil
        }
    }
}
