import RegistryCore

/// The right of a request to change records.
package enum Claimant: Sendable, Hashable {
    /// A sender, admin or root key: may change any record.
    case any
    /// A signed-in user, with the installation that the request names.
    case subject(UTF8Text, InstallationHash?)
    /// A publishable key, with the installation that the request names.
    case installation(InstallationHash)

    package var subject: UTF8Text? { if case .subject(let subject, _) = self { subject } else { nil } }

    package var installation: InstallationHash? {
        switch self {
        case .any: nil
        case .subject(_, let installation): installation
        case .installation(let installation): installation
        }
    }

    /// Whether the claimant may change an activity.
    ///
    /// A record keeps the subject and the installation of its first request.
    ///
    /// | the record has | a signed-in user may change it if | a publishable key may change it if |
    /// |---|---|---|
    /// | a subject | the subject is this user | the request names its installation |
    /// | only an installation | the request names it; the record then gets the subject | the request names it |
    /// | neither, and no token yet | always (a backend's end came first); gets the subject | always |
    /// | neither | never: it belongs to the backend | never |
    package func mayChange(_ activity: Activity) -> Bool {
        if self == .any { return true }
        if let subject, activity.subject == subject { return true }
        if let installation, activity.installation == installation { return activity.subject == nil || subject == nil }
        return activity.subject == nil && activity.installation == nil && activity.token == nil
    }
}
