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
    /// Key id or subject.
    package let actor: UTF8Text
    package let activityID: ActivityID?
    package let installation: InstallationHash?
    package let subject: UTF8Text?
    /// The current aliases and the aliases that the change removed, so that followers of both see the event.
    package let aliases: AliasSet?
    package let tokenDigest: TokenDigest?
    package let slot: InstallationToken.ID?
    package let leaseID: LeaseID?

    package init(_ kind: Kind, of activity: Activity, by actor: UTF8Text, removed aliases: AliasSet? = nil) {
        self.kind = kind
        self.actor = actor
        activityID = activity.id
        installation = activity.installation
        subject = activity.subject
        tokenDigest = activity.token?.digest
        slot = nil
        leaseID = nil
        self.aliases = Self.union(activity.aliases?.value, aliases)
    }

    package init(_ kind: Kind, of installation: Installation, by actor: UTF8Text, removed aliases: AliasSet? = nil) {
        self.init(kind, of: installation, by: actor, removed: aliases, slot: nil, tokenDigest: nil)
    }

    package init(_ kind: Kind, of token: InstallationToken, of installation: Installation, by actor: UTF8Text) {
        self.init(kind, of: installation, by: actor, removed: nil, slot: token.id, tokenDigest: token.token?.digest)
    }

    private init(
        _ kind: Kind,
        of installation: Installation,
        by actor: UTF8Text,
        removed aliases: AliasSet?,
        slot: InstallationToken.ID?,
        tokenDigest: TokenDigest?
    ) {
        self.kind = kind
        self.actor = actor
        activityID = nil
        self.installation = installation.hash
        subject = installation.subject
        self.aliases = Self.union(installation.aliases?.value, aliases)
        self.tokenDigest = tokenDigest
        self.slot = slot
        leaseID = nil
    }

    package init(_ kind: Kind, of lease: Lease, subject: UTF8Text?, by actor: UTF8Text) {
        self.kind = kind
        self.actor = actor
        activityID = nil
        installation = lease.installation
        self.subject = subject
        aliases = AliasSet(stored: [lease.alias])
        tokenDigest = nil
        slot = nil
        leaseID = lease.id
    }

    private static func union(_ current: AliasSet?, _ removed: AliasSet?) -> AliasSet? {
        removed.map { AliasSet(stored: $0.aliases + (current?.aliases ?? [])) } ?? current
    }
}
