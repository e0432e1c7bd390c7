import RegistryCore

/// The caller of a request.
struct Principal: Sendable, Hashable {
    /// Nil for a request without credentials.
    let role: Role?
    /// The name that they have in the audit trail: key id, `user:` and the subject, or `insecure`.
    let who: UTF8Text
    /// The one app that the credentials belong to; nil for all.
    var app: BundleID?
    /// The `sub` of a signed-in user.
    var subject: UTF8Text?

    /// A request without credentials.
    static let anonymous = Principal(role: nil, who: "anonymous")
    /// A request without credentials where `--insecure-no-auth` lets it do everything.
    static let insecure = Principal(role: .root, who: "insecure")
}
