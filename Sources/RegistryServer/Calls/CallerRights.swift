import RegistryCore
import RegistryStore

extension ScopedCall {
    /// Refuses aliases that the caller may not set; nil sets none.
    ///
    /// - Throws: `alias-not-allowed`.
    func checkAliases(_ aliases: AliasSet?) throws(Problem) {
        guard let aliases else { return }
        try AliasPolicy(scope.app).check(aliases.aliases, by: call.principal)
    }

    /// By what right the caller changes records, with the installation that the request names.
    ///
    /// A publishable key that does not say for which installation it calls is refused: the installation's id is what makes
    /// a stranger with the same key a stranger.
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
