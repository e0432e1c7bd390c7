import Foundation

/// One line of an export: a client's request that reproduces stored facts.
///
/// An import applies the requests by the usual rules. Because state does not depend on the order of requests (R0),
/// lines can be reordered and repeated.
package enum TransferRecord: Sendable, Hashable, JSONObjectEncodable {
    case activity(ActivityID, ActivityRegistration)
    /// A name-only activity, by its `liveactivityId`. The registration gives its owner.
    case named(UTF8Text, ActivityRegistration)
    case end(ActivityID, EndReason, at: Date)
    case namedEnd(UTF8Text, ActivityOwner, at: Date)
    /// The subject is the signed-in user who sent the profile.
    case installation(InstallationHash, InstallationProfile, subject: UTF8Text?)
    case logOut(InstallationHash, at: Date)
    case token(TokenSlot, InstallationHash, TokenRegistration)

    /// Reads one line. A line without `record` is an activity.
    ///
    /// `observedAt` is required: an old observation must not count as observed at the import. An installation is named
    /// by its hash in `installation`, or by its `installationId`.
    package static func read(
        _ json: inout JSONReader,
        kinds: [TokenKind] = TokenKind.all,
        hash: (InstallationID) -> InstallationHash
    ) -> TransferRecord? {
        let kind = json.optional("record", String.read) ?? "activity"
        let installation =
            json.optionalString("installation", InstallationHash.init(hexadecimal:))
            ?? json.optionalString("installationId", InstallationID.init).map(hash)
        let observedAt = json.required("observedAt", Date.read)
        let record: TransferRecord? =
            switch kind {
            case "activity": readActivity(&json, installation)
            case "end": readEnd(&json, installation, observedAt)
            case "installation": readProfile(&json, installation)
            case "log-out": observedAt.flatMap { at in installation.map { .logOut($0, at: at) } }
            default: readToken(&json, kind, kinds, installation)
            }
        if record == nil, json.faults.isEmpty {
            switch kind {
            case "activity", "end": json.fault("activityId", "is required if alias is omitted")
            default: json.fault("installation", "is required")
            }
        }
        return json.faults.isEmpty ? record : nil
    }

    private static func readActivity(_ json: inout JSONReader, _ installation: InstallationHash?) -> TransferRecord? {
        let id = json.optionalString("activityId", ActivityID.init)
        let alias = json.optionalString("alias", Alias.value)
        var registration = ActivityRegistration(from: &json, requiresToken: alias != nil)
        registration.wasAccepted = true
        registration.installation = installation
        registration.subject = json.optionalString("subject", UTF8Text.subject)
        if let id { return .activity(id, registration) }
        return alias.map { .named($0, registration) }
    }

    private static func readEnd(
        _ json: inout JSONReader,
        _ installation: InstallationHash?,
        _ observedAt: Date?
    ) -> TransferRecord? {
        let id = json.optionalString("activityId", ActivityID.init)
        let alias = json.optionalString("alias", Alias.value)
        let reason = json.optional("reason", EndReason.read)
        let subject = json.optionalString("subject", UTF8Text.subject)
        guard let observedAt else { return nil }
        if let id { return .end(id, reason ?? .ended, at: observedAt) }
        let owner = ActivityOwner(installation: installation, subject: subject)
        return alias.map { .namedEnd($0, owner, at: observedAt) }
    }

    private static func readProfile(_ json: inout JSONReader, _ installation: InstallationHash?) -> TransferRecord? {
        let profile = InstallationProfile(from: &json)
        let subject = json.optionalString("subject", UTF8Text.subject)
        return installation.map { .installation($0, profile, subject: subject) }
    }

    private static func readToken(
        _ json: inout JSONReader,
        _ kind: String,
        _ kinds: [TokenKind],
        _ installation: InstallationHash?
    ) -> TransferRecord? {
        guard let slot = slot(&json, kind, kinds) else { return nil }
        let registration = TokenRegistration.read(&json)
        guard let registration, let installation else { return nil }
        return .token(slot, installation, registration)
    }

    private static func slot(_ json: inout JSONReader, _ kind: String, _ kinds: [TokenKind]) -> TokenSlot? {
        guard let own = kinds.first(where: { $0 != .update && kind == $0.name + "-token" }) else {
            json.fault("record", "must have a known kind")
            return nil
        }
        guard own.holder == .attributesType else { return .only(own) }
        return json.string("attributesType", AttributesType.init).map { TokenSlot(of: own, $0) }
    }

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
    package var owner: ActivityOwner { ActivityOwner(installation: installation, subject: subject) }

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
