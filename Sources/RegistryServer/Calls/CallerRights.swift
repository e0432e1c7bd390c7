import RegistryCore
import RegistryRules
import RegistryStore

extension ScopedCall {
    /// Nil sets none.
    ///
    /// - Throws: `alias-not-allowed`.
    func checkAliases(_ aliases: AliasSet?) throws(Problem) {
        guard let aliases else { return }
        try AliasPolicy(scope.app).check(aliases.aliases, by: call.principal)
    }

    /// The caller's right to change records, with the installation of the request.
    ///
    /// A publishable key without an installation is rejected: the installation's id distinguishes strangers with the
    /// same key.
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
