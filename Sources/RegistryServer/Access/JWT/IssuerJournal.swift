import RegistryCore
import Synchronization

/// Apps for which this instance never fetched keys, with the last failure.
package final class IssuerJournal: Sendable {
    private let failures = Mutex<[BundleID: String]>([:])

    package init() {}

    /// - Parameter failure: Nil after a successful fetch, or if the app's settings changed.
    func recordFailure(_ failure: String?, of app: BundleID) { failures.withLock { $0[app] = failure } }

    func failure(of app: BundleID) -> String? { failures.withLock { $0[app] } }

    var count: Int { failures.withLock { $0.count } }
}
