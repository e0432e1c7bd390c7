import RegistryCore
import RegistryStore

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
        let who =
            switch rule(for: kind) {
            case .any: "anyone"
            case .signedIn: "a signed-in user (with a JWT), or a sender or admin key"
            case .subject:
                "the signed-in user with this id (a JWT with this subject), or a sender or admin key"
            case .backend: "a sender or admin key only"
            }
        return """
            Aliases of the kind \(kind) may be set by \(who). Use these credentials, or let an admin change the rule: \
            PUT /v1/apps/{bundleId} with {"aliasRules": {"\(kind)": "…"}}.
            """
    }
}
