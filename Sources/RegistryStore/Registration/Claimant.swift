import RegistryCore

/// The right by which a request changes records. ``Ownership`` expresses it in SQL.
package enum Claimant: Sendable, Hashable {
    /// Sender, admin and root keys: any record.
    case any
    /// A signed-in user, with the installation that the request names.
    case subject(UTF8Text, InstallationHash?)
    /// A publishable key, for the installation that the request names.
    case installation(InstallationHash)

    var subject: UTF8Text? {
        guard case .subject(let subject, _) = self else { return nil }
        return subject
    }

    var installation: InstallationHash? {
        switch self {
        case .any: nil
        case .subject(_, let installation): installation
        case .installation(let installation): installation
        }
    }

    /// Adds the claimant's subject and installation, by which the statements judge ownership.
    func sign(_ registration: ActivityRegistration) -> ActivityRegistration {
        guard self != .any else { return registration }
        var registration = registration
        registration.subject = subject
        registration.installation = installation
        return registration
    }
}
