import Synchronization

/// Limits repeated errors in the log to one line per second and kind, for example while Postgres is down.
final class RepeatedErrors: Sendable {
    private struct Entry {
        var loggedAt: ContinuousClock.Instant
        var unlogged = 0
    }

    static let interval = Duration.seconds(1)

    private let entries = Mutex<[String: Entry]>([:])

    /// The number of similar errors suppressed since the last logged one; nil to suppress this one too.
    ///
    /// - Parameter kind: shared by similar errors; keep the number of kinds small.
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
