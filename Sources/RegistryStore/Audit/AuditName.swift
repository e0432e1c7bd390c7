import RegistryCore

/// The names that the audit trail has for those who make changes: an API key by its id, a part of the service by a word such as `sweep`,
/// and a signed-in user by a name that can be neither, whatever the issuer calls the user.
package enum AuditName {
    /// The beginning of the names of users, and of nobody else's.
    package static let userPrefix: UTF8Text = "user:"

    /// The name of a signed-in user.
    package static func user(_ subject: UTF8Text) -> UTF8Text { "\(userPrefix)\(subject)" }

    /// The subject that a name is of; nil for all who are no users.
    package static func subject(of name: UTF8Text) -> UTF8Text? {
        name.hasPrefix(userPrefix) ? name.dropping(prefix: userPrefix) : nil
    }
}
