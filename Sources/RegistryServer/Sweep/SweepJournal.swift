import Foundation
import Synchronization

final class SweepJournal: Sendable {
    struct Entry: Sendable, Hashable {
        let endedAt: Date
        let duration: Duration
        /// False for an aborted sweep.
        let isComplete: Bool
    }

    private let entry = Mutex<Entry?>(nil)

    var last: Entry? { entry.withLock { $0 } }

    func recordSweep(_ new: Entry) { entry.withLock { $0 = new } }
}
