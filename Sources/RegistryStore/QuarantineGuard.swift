import Foundation
import RegistryCore

/// A burst guard that is on: so many tokens were reported that none is quarantined for now.
public struct QuarantineGuard: Sendable, Hashable {
    public let environment: APNSEnvironment
    /// The kind of token, such as `update`.
    public let kind: String
    public let trippedAt: Date
}
