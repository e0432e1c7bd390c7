import Foundation
import RegistryCore

/// A burst guard that is on: so many tokens were reported that none is quarantined for now.
package struct QuarantineGuard: Sendable, Hashable {
    /// The environment that it guards; each kind of token in each has a guard of its own.
    package let environment: APNSEnvironment
    /// The kind of token, such as `update`.
    package let kind: String
    /// Postgres's clock when it tripped.
    package let trippedAt: Date
}
