import RegistryCore

/// The right by which a request changes records.
package enum Claimant: Sendable, Hashable {
    /// Sender, admin and root keys: any record.
    case any
    /// A signed-in user, with the installation that the request names.
    case subject(UTF8Text, InstallationHash?)
    /// A publishable key, for the installation that the request names.
    case installation(InstallationHash)

    package var subject: UTF8Text? {
        guard case .subject(let subject, _) = self else { return nil }
        return subject
    }

    package var installation: InstallationHash? {
        switch self {
        case .any: nil
        case .subject(_, let installation): installation
        case .installation(let installation): installation
        }
    }

    /// Whether the claimant may change an activity.
    ///
    /// A record keeps the subject and the installation that made it. A client may change
    ///
    /// | the record has | a signed-in user may, if | a publishable key may, if |
    /// |---|---|---|
    /// | a subject | it is theirs | the installation is the one that the key names |
    /// | an installation alone | the request names it; the record then gets the subject | the same |
    /// | neither, and no token yet | always: a backend's end came first; the record becomes theirs | always, likewise |
    /// | neither | never: it is the backend's | never |
    package func mayChange(_ activity: Activity) -> Bool {
        if self == .any { return true }
        if let subject, activity.subject == subject { return true }
        if let installation, activity.installation == installation {
            return activity.subject == nil || subject == nil
        }
        return activity.subject == nil && activity.installation == nil && activity.token == nil
    }
}
