import RegistryCore
import Synchronization

/// The apps whose issuer never gave this instance keys, with the reason of the last failed fetch.
package final class IssuerJournal: Sendable {
    private let failures = Mutex<[BundleID: String]>([:])

    package init() {}

    /// - Parameter failure: nil if keys were fetched, or the app's settings changed.
    func recordFailure(_ failure: String?, of app: BundleID) { failures.withLock { $0[app] = failure } }

    func failure(of app: BundleID) -> String? { failures.withLock { $0[app] } }

    var count: Int { failures.withLock { $0.count } }
}
