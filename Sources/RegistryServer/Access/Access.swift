import RegistryCore

/// Which roles may make a call. Every route names one of these, and `check` alone decides by it.
///
/// | access | who | calls |
/// |---|---|---|
/// | `everyone` | no credentials needed | `/livez`, `/readyz`, `/openapi.json`, `/docs`, the console's sign-in, sign-out and assets |
/// | `clientCalls` | client, sender, admin, root | registering and ending; senders and admins do it for their users |
/// | `senderCalls` | sender, admin, root | whatever hands out tokens, and ending all under an alias; never a client |
/// | `adminCalls` | admin, root | what cleans up: release, purge, erasure |
/// | `recordReads` | sender, auditor, admin, root | what is held about an installation, without tokens |
/// | `changeReads` | sender, auditor, admin, root | the change feed, which has no tokens |
/// | `auditReads` | auditor, admin, root | statistics, stale tokens, the audit trail, explanations; tokens masked |
/// | `appReads` | auditor, admin, root | an app's settings |
/// | `appChanges` | admin, root | changing them |
/// | `keyCalls` | admin, root | an app's API keys |
/// | `rootCalls` | root | deleting apps; making them too, since only root belongs to no app |
/// | `operatorReads` | auditor, admin, root | metrics, and the checks behind `/readyz` |
struct Access: Sendable, Hashable {
    /// Nil for everyone.
    let roles: Set<Role>?

    static let everyone = Access(roles: nil)
    static let clientCalls = Access(roles: [.client, .sender, .admin, .root])
    static let senderCalls = Access(roles: [.sender, .admin, .root])
    static let adminCalls = Access(roles: [.admin, .root])
    static let recordReads = Access(roles: [.sender, .auditor, .admin, .root])
    static let changeReads = Access(roles: [.sender, .auditor, .admin, .root])
    static let auditReads = Access(roles: [.auditor, .admin, .root])
    static let appReads = Access(roles: [.auditor, .admin, .root])
    static let appChanges = Access(roles: [.admin, .root])
    static let keyCalls = Access(roles: [.admin, .root])
    static let rootCalls = Access(roles: [.root])
    static let operatorReads = Access(roles: [.auditor, .admin, .root])
    func allows(_ principal: Principal) -> Bool { (try? check(principal)) != nil }

    /// - Throws: `unauthenticated` for a request without credentials.
    func checkCredentials(of principal: Principal) throws(Problem) {
        guard roles == nil || principal.role != nil else {
            throw Problem(.unauthenticated, "The call needs credentials: Authorization: Bearer …")
        }
    }

    /// - Throws: `unauthenticated` for a request without credentials, `forbidden` for an insufficient role.
    func check(_ principal: Principal) throws(Problem) {
        try checkCredentials(of: principal)
        guard let roles, let role = principal.role, !roles.contains(role) else { return }
        let allowed = Role.allCases.filter(roles.contains).map(\.rawValue).joined(separator: ", ")
        throw Problem(.forbidden, "The role \(role.rawValue) may not make this call; it takes one of: \(allowed).")
    }
}
