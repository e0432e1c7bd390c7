import RegistryCore

/// The actors in the audit trail: an API key by its id, a part of the service by a word such as `sweep`, and a
/// signed-in user with a prefix, so that a subject cannot imitate either.
package enum AuditName {
    package static let userPrefix: UTF8Text = "user:"
    package static func user(_ subject: UTF8Text) -> UTF8Text { "\(userPrefix)\(subject)" }

    package static func subject(of name: UTF8Text) -> UTF8Text? {
        name.hasPrefix(userPrefix) ? name.dropping(prefix: userPrefix) : nil
    }
}
