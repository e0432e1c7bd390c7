import Foundation
import RegistryCore

/// A burst guard that is on: so many tokens were reported that no more are quarantined for now.
package struct QuarantineGuard: Sendable, Hashable {
    /// Each kind of token has its own guard in each environment.
    package let environment: APNSEnvironment
    package let kind: String
    /// Postgres's clock when it tripped.
    package let trippedAt: Date
}
