import RegistryCore

/// An entry of the audit trail, written in the transaction of its change (R11).
package struct NewAuditEvent: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        case registered
        case rotated
        case reactivated
        case changed
        case aliasesChanged = "aliases-changed"
        case takenOver = "taken-over"
        case dropped
        case ended
        case dismissed
    }

    package let kind: Kind
    /// Key id or subject.
    package let actor: UTF8Text
    package let activityID: ActivityID?
    package let installation: InstallationHash?
    package let subject: UTF8Text?
    /// The aliases at the time of the event, and those that the change removed, so that followers of either see it.
    package let aliases: AliasSet?
    package let tokenDigest: TokenDigest?

    package init(_ kind: Kind, of activity: Activity, by actor: UTF8Text, removed aliases: AliasSet? = nil) {
        self.kind = kind
        self.actor = actor
        activityID = activity.id
        installation = activity.installation
        subject = activity.subject
        tokenDigest = activity.token?.digest
        let current = activity.aliases?.value
        self.aliases = aliases.map { AliasSet(stored: $0.aliases + (current?.aliases ?? [])) } ?? current
    }
}
