import RegistryCore
import RegistryRules

/// A registration in its scope. A class, because copies between queue, batch and answer cost more.
final class RegistrationRequest: Sendable {
    let registration: Registration
    let scope: Scope

    init(
        id: ActivityID,
        registration: ActivityRegistration,
        who: UTF8Text,
        claimant: Claimant,
        scope: Scope
    ) {
        let digest = registration.token.map(TokenDigest.init)
        self.registration = Registration(registration, of: id, digest: digest, claimant: claimant, actor: who)
        self.scope = scope
    }
}
