import RegistryCore

/// A registration of one activity, with the inputs of its statements. A class, because copies between queue, batch and
/// answer would cost more.
final class RegistrationRequest: Sendable {
    let id: ActivityID
    let registration: ActivityRegistration
    let who: UTF8Text
    let claimant: Claimant
    let scope: Scope

    /// A client's request is limited to its own subject and installation; a backend's is not.
    var isGuarded: Bool { claimant != .any }

    init(
        id: ActivityID,
        registration: ActivityRegistration,
        who: UTF8Text,
        claimant: Claimant,
        scope: Scope
    ) {
        self.id = id
        self.registration = claimant.sign(registration)
        self.who = who
        self.claimant = claimant
        self.scope = scope
    }
}
