import RegistryCore

/// Who makes a request.
struct Principal: Sendable, Hashable {
    /// Nil for a request without credentials.
    let role: Role?
    /// What the audit trail calls them: key id, subject, or `insecure`.
    let who: String
    /// The one app that the credentials belong to; nil for all.
    var app: BundleID?
    /// The `sub` of a signed-in user.
    var subject: String?

    /// A request without credentials.
    static let anonymous = Principal(role: nil, who: "anonymous")
    /// A request without credentials where `--insecure-no-auth` lets it do everything.
    static let insecure = Principal(role: .root, who: "insecure")
}
