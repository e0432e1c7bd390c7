import RegistryCore
import RegistryRules
import RegistryStore

extension ScopedCall {
    func checkAliases(_ aliases: AliasSet?) throws(Problem) {
        guard let aliases else { return }
        try AliasPolicy(scope.app).check(aliases.aliases, by: call.principal)
    }

    /// A publishable key needs an installation, because only its id distinguishes callers with that key.
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
