import RegistryCore

/// The parties besides the credentials that limit a request.
struct Caller: Sendable, Hashable {
    var network: CallerNetwork?
    var installation: [UInt8]?

    /// Longer ids are rejected and not stored.
    static let longestInstallation = InstallationID.maximumBytes
}
