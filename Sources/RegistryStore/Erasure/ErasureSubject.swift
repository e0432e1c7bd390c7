import PostgresDriver
import RegistryCore

package enum ErasureSubject: Sendable, Hashable {
    /// All activities and installations that have the alias, and its channel.
    case alias(Alias)
    case installation(InstallationHash)
    case subject(UTF8Text)

    var name: UTF8Text {
        switch self {
        case .alias(let alias): "alias:\(alias.kind):\(alias.value)"
        case .installation(let hash): "installation:\(hash)"
        case .subject(let subject): "subject:\(subject)"
        }
    }

    /// A page of the activities to erase. It contains no erased activities.
    func findActivities(limit: Int, in scope: Scope) -> SQL {
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        return switch self {
        case .alias(let alias):
            Query("erasure.find-activities-of-alias")(alias.values(in: scope) + ["limit": limit])
        case .installation(let hash): Query("erasure.find-activities-of-installation")(page + ["installation": hash])
        case .subject(let subject): Query("erasure.find-activities-of-subject")(page + ["subject": subject])
        }
    }

    func findInstallations(limit: Int, in scope: Scope) -> SQL {
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        return switch self {
        case .alias(let alias): Query("audit.find-installations-of-alias")(alias.values(in: scope) + ["limit": limit])
        case .installation(let hash): Query("installations.read")(["scope": scope.id, "installation": hash])
        case .subject(let subject): Query("erasure.find-installations-of-subject")(page + ["subject": subject])
        }
    }

    /// Deletes a page of identities; nil if the subject has only identities of activities.
    func deleteIdentities(limit: Int, in scope: Scope) -> SQL? {
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        let delete = { Query("erasure.delete-identities-of-owner")(page + ["owner": ($0 as ActivityOwner).stored]) }
        return switch self {
        case .alias(let alias) where alias.kind == Alias.liveActivityKind:
            Query("erasure.delete-identities-of-alias")(page + ["alias": alias.value])
        case .alias: nil
        case .installation(let hash): delete(.installation(hash))
        case .subject(let subject): delete(.subject(subject))
        }
    }

    /// A page of events that name the subject and no erased activity or installation. It contains no redacted events.
    /// Nil for an alias, which has no index.
    func findEvents(limit: Int, in scope: Scope) -> SQL? {
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        return switch self {
        case .alias: nil
        case .installation(let hash): Query("erasure.find-events-of-installations")(page + ["hashes": [hash]])
        case .subject(let subject):
            Query("erasure.find-events-of-subject")(page + ["subject": subject, "who": AuditName.user(subject)])
        }
    }
}
