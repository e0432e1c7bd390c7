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
        case quarantined
        case released
        case ended
        case expired
        case dismissed
        case installationChanged = "installation-changed"
        case loggedOut = "logged-out"
        case deleted
        case purged
        case leaseTaken = "lease-taken"
        case leaseReleased = "lease-released"
        case startFailed = "start-failed"
    }

    package let kind: Kind
    package let actor: UTF8Text
    package private(set) var activityID: ActivityID?
    package private(set) var installation: InstallationHash?
    package private(set) var subject: UTF8Text?
    /// The current aliases and the aliases that the change removed, so that followers of both see the event.
    package private(set) var aliases: AliasSet?
    package private(set) var tokenDigest: TokenDigest?
    package private(set) var slot: InstallationToken.ID?
    package private(set) var leaseID: LeaseID?

    package init(_ kind: Kind, of activity: Activity, by actor: UTF8Text, removed: AliasSet? = nil) {
        (self.kind, self.actor) = (kind, actor)
        activityID = activity.id
        installation = activity.installation
        subject = activity.subject
        aliases = Self.union(activity.aliases?.value, removed)
        tokenDigest = activity.token?.digest
    }

    package init(_ kind: Kind, of installation: Installation, by actor: UTF8Text, removed: AliasSet? = nil) {
        (self.kind, self.actor) = (kind, actor)
        self.installation = installation.hash
        subject = installation.subject
        aliases = Self.union(installation.aliases?.value, removed)
    }

    package init(_ kind: Kind, of token: InstallationToken, of installation: Installation, by actor: UTF8Text) {
        self.init(kind, of: installation, by: actor)
        tokenDigest = token.token?.digest
        slot = token.id
    }

    package init(_ kind: Kind, of lease: Lease, subject: UTF8Text?, by actor: UTF8Text) {
        (self.kind, self.actor) = (kind, actor)
        installation = lease.installation
        self.subject = subject
        aliases = AliasSet(stored: [lease.alias])
        leaseID = lease.id
    }

    private static func union(_ current: AliasSet?, _ removed: AliasSet?) -> AliasSet? {
        removed.map { AliasSet(stored: $0.aliases + (current?.aliases ?? [])) } ?? current
    }
}
