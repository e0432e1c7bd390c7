import Synchronization

/// Which errors go to the log, so that while Postgres is away there is a line a second and not one for each request.
final class RepeatedErrors: Sendable {
    private struct Entry {
        var loggedAt: ContinuousClock.Instant
        var unlogged = 0
    }

    /// How long after one error those like it are only counted.
    static let interval = Duration.seconds(1)

    private let entries = Mutex<[String: Entry]>([:])

    /// How many errors like it were not logged since the last one that was; nil when this one is not to be logged either.
    ///
    /// - Parameter kind: what errors that are alike have in common, one of few.
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
