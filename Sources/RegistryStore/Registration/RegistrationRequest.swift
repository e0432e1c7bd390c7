import RegistryCore

/// A registration of one activity, with all that its statements need to know. A class, for it is handed from the queue to its
/// batch to its answer, and a copy of all that it holds would cost more each time than this.
final class RegistrationRequest: Sendable {
    let id: ActivityID
    let registration: ActivityRegistration
    let who: UTF8Text
    /// By what right.
    let claimant: Claimant
    let scope: Scope

    /// A client's own, by its subject and installation; a backend's may be about any record.
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
