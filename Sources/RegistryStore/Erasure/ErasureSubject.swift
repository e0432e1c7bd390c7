import PostgresDriver
import RegistryCore

package enum ErasureSubject: Sendable, Hashable {
    /// All activities and installations that bear the alias, and its channel.
    case alias(Alias)
    case installation(InstallationHash)
    case subject(UTF8Text)

    /// The name whose digest is remembered.
    var name: UTF8Text {
        switch self {
        case .alias(let alias): "alias:\(alias.kind):\(alias.value)"
        case .installation(let hash): "installation:\(hash)"
        case .subject(let subject): "subject:\(subject)"
        }
    }

    /// Locks a page of the activities to erase; erased ones are not found again.
    func lockActivities(limit: Int, in scope: Scope) -> SQL {
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        return switch self {
        case .alias(let alias): Query.lockActivitiesOfAlias(page + ["kind": alias.kind, "value": alias.value])
        case .installation(let hash): Query.lockActivitiesOfInstallation(page + ["installation": hash])
        case .subject(let subject): Query.lockActivitiesOfSubject(page + ["subject": subject])
        }
    }

    /// Locks a page of the installations to erase; erased ones are not found again.
    func lockInstallations(limit: Int, in scope: Scope) -> SQL {
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        return switch self {
        case .alias(let alias): Query.lockInstallationsOfAlias(page + ["kind": alias.kind, "value": alias.value])
        case .installation(let hash): Query.lockInstallation(["scope": scope.id, "installation": hash])
        case .subject(let subject): Query.lockInstallationsOfSubject(page + ["subject": subject])
        }
    }

    /// Locks a page of the identities to erase; nil if the subject has none besides those of activities.
    func lockIdentities(limit: Int, in scope: Scope) -> SQL? {
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        func lock(ownedBy owner: ActivityOwner) -> SQL { Query.lockIdentitiesOfOwner(page + ["owner": owner.stored]) }
        return switch self {
        case .alias(let alias) where alias.kind == Alias.liveActivityKind:
            Query.lockIdentitiesOfAlias(page + ["alias": alias.value])
        case .alias: nil
        case .installation(let hash): lock(ownedBy: .installation(hash))
        case .subject(let subject): lock(ownedBy: .subject(subject))
        }
    }

    /// Finds a page of the events that name the subject itself without an erased activity or installation; redacted ones
    /// are not found again. Nil for an alias, which has no index there.
    func findEvents(limit: Int, in scope: Scope) -> SQL? {
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        return switch self {
        case .alias: nil
        case .installation(let hash): Query.findEventsOfInstallations(page + ["hashes": [hash.bytes]])
        case .subject(let subject):
            Query.findEventsOfSubject(page + ["subject": subject, "who": AuditName.user(subject)])
        }
    }
}

extension Query {
    static let findEventsOfInstallations: Query = "erasure.find-events-of-installations"
    fileprivate static let lockActivitiesOfAlias: Query = "erasure.lock-activities-of-alias"
    fileprivate static let lockActivitiesOfInstallation: Query = "erasure.lock-activities-of-installation"
    fileprivate static let lockActivitiesOfSubject: Query = "erasure.lock-activities-of-subject"
    fileprivate static let lockInstallationsOfAlias: Query = "erasure.lock-installations-of-alias"
    fileprivate static let lockInstallation: Query = "installations.lock"
    fileprivate static let lockInstallationsOfSubject: Query = "erasure.lock-installations-of-subject"
    fileprivate static let lockIdentitiesOfAlias: Query = "erasure.lock-identities-of-alias"
    fileprivate static let lockIdentitiesOfOwner: Query = "erasure.lock-identities-of-owner"
    fileprivate static let findEventsOfSubject: Query = "erasure.find-events-of-subject"
}
