import RegistryCore

/// The parties besides the credentials for which a request is counted.
struct Caller: Sendable, Hashable {
    /// Nil if networks are not counted.
    var network: CallerNetwork?
    /// The installation named by the path or the header, as bytes.
    var installation: [UInt8]?

    /// Longer ids are rejected, and not stored.
    static let longestInstallation = InstallationID.maximumBytes
}
