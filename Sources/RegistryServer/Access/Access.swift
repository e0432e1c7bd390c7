import RegistryCore

/// The roles that may make a call. Every route has one of these values, and only `check` decides by it.
struct Access: Sendable, Hashable {
    /// Nil for everyone.
    let roles: Set<Role>?

    static let everyone = Access(roles: nil)
    /// Register and end. Senders and admins do it for their users.
    static let clientCalls = Access(roles: [.client, .sender, .admin, .root])
    /// Read tokens, and end all activities of an alias.
    static let senderCalls = Access(roles: [.sender, .admin, .root])
    static let adminCalls = Access(roles: [.admin, .root])
    /// Records of installations and the change feed, without tokens.
    static let recordReads = Access(roles: [.sender, .auditor, .admin, .root])
    /// Settings, metrics, statistics, the audit trail, and masked tokens.
    static let auditReads = Access(roles: [.auditor, .admin, .root])
    /// Only root creates and deletes apps, because other roles belong to one app.
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

struct Caller: Sendable, Hashable {
    var network: CallerNetwork?
    var installation: [UInt8]?
}

/// The callers that may set each kind of alias. Every call that sets aliases must check it.
///
/// The publishable key can be extracted from the app, and an attacker could otherwise get another user's pushes.
struct AliasPolicy: Sendable {
    let rules: [UTF8Text: AliasRule]

    init(_ app: App) { rules = app.settings.aliasRules }

    func rule(for kind: UTF8Text) -> AliasRule {
        if let rule = rules[kind] { return rule }
        switch kind {
        case Alias.liveActivityKind: return .any
        case "userId": return .subject
        default: return .signedIn
        }
    }

    /// - Throws: `alias-not-allowed` for the first alias that the caller may not set.
    func check(_ aliases: some Sequence<Alias>, by principal: Principal) throws(Problem) {
        for alias in aliases where !allows(alias, principal) {
            throw Problem(.aliasNotAllowed, refusal(of: alias.kind, principal))
        }
    }

    private func allows(_ alias: Alias, _ principal: Principal) -> Bool {
        guard principal.role == .client else { return true }
        switch rule(for: alias.kind) {
        case .any: return true
        case .signedIn: return principal.subject != nil
        case .subject: return principal.subject == alias.value
        case .backend: return false
        }
    }

    private func refusal(of kind: UTF8Text, _ principal: Principal) -> String {
        """
        Aliases of the kind \(kind) may be set by \(rule(for: kind).callers). Use these credentials, or let an admin change \
        the rule: PUT /v1/apps/{bundleId} with {"aliasRules": {"\(kind)": "…"}}.
        """
    }
}

extension AliasRule {
    /// The callers that may set an alias, for people.
    var callers: String {
        switch self {
        case .any: "anyone"
        case .signedIn: "a signed-in user (with a JWT), or a sender or admin key"
        case .subject: "the signed-in user with this id (a JWT with this subject), or a sender or admin key"
        case .backend: "a sender or admin key only"
        }
    }
}
