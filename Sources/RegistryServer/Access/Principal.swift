import RegistryCore

struct Principal: Sendable, Hashable {
    /// Nil for a request without credentials.
    let role: Role?
    /// The name in the audit trail: key id, `user:` and the subject, or `insecure`.
    let who: UTF8Text
    /// The only app of the credentials; nil for all.
    var app: BundleID?
    var subject: UTF8Text?
    static let anonymous = Principal(role: nil, who: "anonymous")
    /// With `--insecure-no-auth`, requests without credentials may do everything.
    static let insecure = Principal(role: .root, who: "insecure")
}
