import Foundation
import Synchronization

/// How the last sweep of this instance went, for those who ask.
final class SweepJournal: Sendable {
    struct Entry: Sendable, Hashable {
        let endedAt: Date
        let duration: Duration
        /// False when it was given up.
        let isComplete: Bool
    }

    private let entry = Mutex<Entry?>(nil)

    var last: Entry? { entry.withLock { $0 } }

    func note(_ new: Entry) { entry.withLock { $0 = new } }
}
