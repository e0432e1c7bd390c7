import RegistryCore

/// The parties that a request is counted for, beside those whose credentials it bears.
struct Caller: Sendable, Hashable {
    /// Nil where networks are not counted.
    var network: CallerNetwork?
    /// The installation that the path or the header names, by its bytes.
    var installation: [UInt8]?

    /// The most that an installation's id can have, in bytes: longer ones are refused, and nothing is kept of them.
    static let longestInstallation = InstallationID.maximumBytes
}
