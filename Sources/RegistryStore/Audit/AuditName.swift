import RegistryCore

/// The actors in the audit trail: an API key's id, a word such as `sweep` for a part of the service, or a user's
/// subject with a prefix, so that a subject cannot imitate the others.
package enum AuditName {
    package static let userPrefix: UTF8Text = "user:"
    package static func user(_ subject: UTF8Text) -> UTF8Text { "\(userPrefix)\(subject)" }

    package static func subject(of name: UTF8Text) -> UTF8Text? {
        name.hasPrefix(userPrefix) ? name.dropping(prefix: userPrefix) : nil
    }
}
