import RegistryCore
import RegistryStore

/// Who may set an alias of which kind (section 5 of the contract).
///
/// Anyone can take the publishable key out of an app, so without these rules a stranger could have another user's
/// pushes sent to himself. This is the one place that decides it, for every call that sets aliases.
struct AliasPolicy: Sendable {
    let rules: [String: AliasRule]

    init(_ app: App) { rules = app.settings.aliasRules }

    /// The rule of a kind: the app's own, else the default.
    func rule(for kind: String) -> AliasRule {
        if let rule = rules[kind] { return rule }
        switch kind {
        case Alias.liveActivityKind: return .any
        case "userId": return .subject
        default: return .signedIn
        }
    }

    /// Refuses a set of aliases for the first that the caller may not set.
    ///
    /// - Throws: `alias-not-allowed`, with how to allow it.
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
        case .subject: return principal.subject.map { $0.utf8.elementsEqual(alias.value.utf8) } ?? false
        case .backend: return false
        }
    }

    private func refusal(of kind: String, _ principal: Principal) -> String {
        let who =
            switch rule(for: kind) {
            case .any: "anyone"
            case .signedIn: "a signed-in user (with a JWT), or a sender or admin key"
            case .subject:
                "the signed-in user of that very name (a JWT whose subject equals it), or a sender or admin key"
            case .backend: "a sender or admin key alone"
            }
        return """
            Aliases of the kind \(kind) may be set by \(who). Send it that way, or have an admin allow more: \
            PUT /v1/apps/{bundleId} with {"aliasRules": {"\(kind)": "…"}}.
            """
    }
}

extension ScopedCall {
    /// Refuses aliases that the caller may not set; nil sets none.
    ///
    /// - Throws: `alias-not-allowed`.
    func checkAliases(_ aliases: AliasSet?) throws(Problem) {
        guard let aliases else { return }
        try AliasPolicy(scope.app).check(aliases.aliases, by: call.principal)
    }

    /// Refuses a publishable key that does not say for which installation it calls: the installation's id is what makes
    /// a stranger with the same key a stranger.
    ///
    /// - Throws: `installation-required`.
    func checkInstallation(_ installation: InstallationHash?) throws(Problem) { _ = try findClaimant(installation) }

    /// By what right the caller changes records, with the installation that the request names.
    ///
    /// - Throws: `installation-required`.
    func findClaimant(_ installation: InstallationHash?) throws(Problem) -> Claimant {
        guard call.principal.role == .client else { return .any }
        if let subject = call.principal.subject { return .subject(subject, installation) }
        if let installation { return .installation(installation) }
        throw Problem(
            .installationRequired,
            "A publishable key must name the installation: send X-Installation-Id, or installationId in the body."
        )
    }
}
