import Foundation

extension TransferRecord: JSONEncodable {
    /// Contains complete tokens. Times have microseconds, as they are stored.
    package func encode(to json: inout JSONWriter) {
        json.object { json in writeMembers(to: &json) }
    }

    private func writeMembers(to json: inout JSONWriter) {
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
            json.members(profile.aliases, profile.metadata)
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
        if let token { json.hex("token", token.bytes) }
        json.exactTime("observedAt", observedAt)
        json.exactTime("startedAt", startedAt)
        json.exactTime("startsAt", startsAt)
        if let installation { json.hex("installation", installation.bytes) }
        json.member("subject", ifPresent: subject)
        facts.writeMembers(to: &json)
        json.members(aliases, metadata)
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

    /// Writes canonical JSON and omits absent members.
    package mutating func members(_ aliases: AliasSet?, _ metadata: Metadata?) {
        for (name, canonical) in [("aliases", aliases?.canonicalJSON), ("metadata", metadata?.canonicalJSON)] {
            guard let canonical else { continue }
            key(name)
            raw(canonical)
        }
    }
}
