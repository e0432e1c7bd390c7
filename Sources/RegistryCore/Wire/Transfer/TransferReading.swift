import Foundation

extension TransferRecord {
    /// Reads one line. A line without `record` is an activity.
    ///
    /// `observedAt` is required: an old observation must not count as observed at the import. An installation is named
    /// by its hash in `installation`, or by its `installationId`.
    ///
    /// - Parameters:
    ///   - kinds: of the app of the line.
    ///   - hash: the hash of an installation's id in that app.
    package static func read(
        _ json: inout JSONReader,
        kinds: [TokenKind] = TokenKind.all,
        hash: (InstallationID) -> InstallationHash
    ) -> TransferRecord? {
        let kind = json.optional("record", String.read) ?? "activity"
        let installation = readInstallation(&json, hash)
        let observedAt = json.required("observedAt", Date.read)
        let record: TransferRecord? =
            switch kind {
            case "activity": readActivity(&json, installation)
            case "end": readEnd(&json, installation, observedAt)
            case "installation": readProfile(&json, installation)
            case "log-out": observedAt.flatMap { at in installation.map { .logOut($0, at: at) } }
            default: readToken(&json, kind, kinds, installation)
            }
        if record == nil, installation == nil, !["activity", "end"].contains(kind), json.faults.isEmpty {
            json.fault("installation", "is required")
        }
        return json.faults.isEmpty ? record : nil
    }

    private static func readInstallation(
        _ json: inout JSONReader,
        _ hash: (InstallationID) -> InstallationHash
    ) -> InstallationHash? {
        json.optionalString("installation", InstallationHash.init(hexadecimal:))
            ?? json.optionalString("installationId", InstallationID.init).map(hash)
    }

    private static func readActivity(
        _ json: inout JSONReader,
        _ installation: InstallationHash?
    ) -> TransferRecord? {
        let id = json.optionalString("activityId", ActivityID.init)
        let alias = json.optionalString("alias", Alias.value)
        var registration = ActivityRegistration(from: &json, requiresToken: alias != nil)
        registration.wasAccepted = true
        registration.installation = installation
        registration.subject = json.optionalString("subject", UTF8Text.subject)
        if let id { return .activity(id, registration) }
        if let alias { return .named(alias, registration) }
        if json.faults.isEmpty { json.fault("activityId", "is required if alias is omitted") }
        return nil
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
        if let alias { return .namedEnd(alias, owner, at: observedAt) }
        if json.faults.isEmpty { json.fault("activityId", "is required if alias is omitted") }
        return nil
    }

    private static func readProfile(
        _ json: inout JSONReader,
        _ installation: InstallationHash?
    ) -> TransferRecord? {
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
}
