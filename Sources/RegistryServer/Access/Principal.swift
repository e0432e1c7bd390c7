import RegistryCore

struct Principal: Sendable, Hashable {
    let role: Role?
    /// The actor in the audit trail: a key id, `user:` and a subject, or `insecure`.
    let who: UTF8Text
    /// Nil if the credentials apply to all apps.
    var app: BundleID?
    var subject: UTF8Text?
    static let anonymous = Principal(role: nil, who: "anonymous")
    /// With `--insecure-no-auth`, requests without credentials have all rights.
    static let insecure = Principal(role: .root, who: "insecure")
}

/// The parties besides the credentials that limit a request.
struct Caller: Sendable, Hashable {
    var network: CallerNetwork?
    var installation: [UInt8]?

    /// Longer ids are rejected and not stored.
    static let longestInstallation = InstallationID.maximumBytes
}
