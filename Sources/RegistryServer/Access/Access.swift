import RegistryCore

/// The roles that may make a call. Every route has one of these values, and only `check` decides by it.
///
/// | access | roles | calls |
/// |---|---|---|
/// | `everyone` | none | `/livez`, `/readyz`, `/openapi.json`, `/docs`, sign-in, sign-out, the console's assets |
/// | `clientCalls` | client, sender, admin, root | register and end. Senders and admins do it for their users |
/// | `senderCalls` | sender, admin, root | read tokens, end all activities of an alias. Never clients |
/// | `adminCalls` | admin, root | release, purge, erase, change an app's settings and API keys |
/// | `recordReads` | sender, auditor, admin, root | records of installations and the change feed, without tokens |
/// | `auditReads` | auditor, admin, root | settings, metrics, statistics, audit trail, stale and masked tokens |
/// | `rootCalls` | root | delete apps. Only root can create them, because other roles belong to one app |
struct Access: Sendable, Hashable {
    /// Nil for everyone.
    let roles: Set<Role>?

    static let everyone = Access(roles: nil)
    static let clientCalls = Access(roles: [.client, .sender, .admin, .root])
    static let senderCalls = Access(roles: [.sender, .admin, .root])
    static let adminCalls = Access(roles: [.admin, .root])
    static let recordReads = Access(roles: [.sender, .auditor, .admin, .root])
    static let auditReads = Access(roles: [.auditor, .admin, .root])
    static let rootCalls = Access(roles: [.root])
    func allows(_ principal: Principal) -> Bool { (try? check(principal)) != nil }

    func checkCredentials(of principal: Principal) throws(Problem) {
        guard roles == nil || principal.role != nil else {
            throw Problem(.unauthenticated, "The call needs credentials: Authorization: Bearer …")
        }
    }

    func check(_ principal: Principal) throws(Problem) {
        try checkCredentials(of: principal)
        guard let roles, let role = principal.role, !roles.contains(role) else { return }
        let allowed = Role.allCases.filter(roles.contains).map(\.rawValue).joined(separator: ", ")
        throw Problem(.forbidden, "The role \(role.rawValue) may not make this call. Allowed roles: \(allowed).")
    }
}

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
}
