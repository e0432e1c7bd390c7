import Foundation

extension TransferRecord: JSONObjectEncodable {
    /// Contains complete tokens. Times have microseconds, as they are stored.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("record", kind)
        switch self {
        case .activity(let id, let registration):
            json.member("activityId", id.rawValue)
            registration.writeMembers(to: &json)
        case .named(let alias, let registration):
            json.member("alias", alias)
            registration.writeMembers(to: &json)
        case .end(let id, let reason, let time):
            json.member("activityId", id.rawValue)
            json.member("reason", reason.rawValue)
            json.exactTime("observedAt", time)
        case .namedEnd(let alias, let owner, let time):
            json.member("alias", alias)
            owner.writeMembers(to: &json)
            json.exactTime("observedAt", time)
        case .installation(let installation, let profile, let subject):
            json.hex("installation", installation.bytes)
            json.member("subject", ifPresent: subject)
            json.raw("aliases", ifPresent: profile.aliases?.canonicalJSON)
            json.raw("metadata", ifPresent: profile.metadata?.canonicalJSON)
            json.exactTime("observedAt", profile.observedAt)
        case .logOut(let installation, let time):
            json.hex("installation", installation.bytes)
            json.exactTime("observedAt", time)
        case .token(let slot, let installation, let registration):
            json.hex("installation", installation.bytes)
            json.member("attributesType", ifPresent: slot.attributesType?.rawValue)
            json.hex("token", registration.token.bytes)
            json.exactTime("observedAt", registration.observedAt)
        }
    }

    private var kind: String {
        switch self {
        case .activity, .named: "activity"
        case .end, .namedEnd: "end"
        case .installation: "installation"
        case .logOut: "log-out"
        case .token(let slot, _, _): slot.kind.name + "-token"
        }
    }
}

extension ActivityRegistration {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.hex("token", ifPresent: token?.bytes)
        json.exactTime("observedAt", observedAt)
        json.exactTime("startedAt", startedAt)
        json.exactTime("startsAt", startsAt)
        json.hex("installation", ifPresent: installation?.bytes)
        json.member("subject", ifPresent: subject)
        facts.writeMembers(to: &json)
        json.raw("aliases", ifPresent: aliases?.canonicalJSON)
        json.raw("metadata", ifPresent: metadata?.canonicalJSON)
    }
}

extension ActivityOwner {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        switch self {
        case .installation(let hash): json.hex("installation", hash.bytes)
        case .subject(let subject): json.member("subject", subject)
        case .app: break
        }
    }
}

extension JSONWriter {
    fileprivate mutating func exactTime(_ name: String, _ time: Date?) {
        member(name, ifPresent: time.map { RFC3339.format($0, precision: .microseconds) })
    }
}
