import Foundation

package struct AppChanges: Sendable, Hashable {
    package var name: String?
    /// For activities first received from now on: a second to 7 days.
    package var activityLifetime: Duration?
    /// At least the current lifetime and an hour.
    package var tombstoneRetention: Duration?
    package var eventRetention: Duration?
    /// Replaces the rules of all kinds. Kinds that are absent get the default rules.
    package var aliasRules: [UTF8Text: AliasRule]?
    /// Replaces the app's own kinds of tokens. A kind that has tokens must stay, with its holder.
    package var tokenKinds: [TokenKind]?
    /// Replaces how JWTs are checked; an empty object turns them off.
    package var jwt: JSONObject?
    package init() {}
}

extension AppChanges {
    /// iOS ends an activity after 8 hours and shows it for 4 more.
    private static let activityLifetimes = Duration.seconds(1)...Duration.seconds(7 * 86_400)
    package static let retentions = Duration.seconds(1)...Duration.seconds(3660 * 86_400)

    package init(from json: inout JSONReader) {
        self.init()
        name = json.optionalString("name", APIKeyRequest.name)
        activityLifetime = json.optional("activityLifetime", Duration.within(Self.activityLifetimes))
        tombstoneRetention = json.optional("tombstoneRetention", Duration.within(Self.retentions))
        eventRetention = json.optional("eventRetention", Duration.within(Self.retentions))
        aliasRules = json.optionalNested("aliasRules") { Self.aliasRules(&$0) }
        tokenKinds = json.optionalNested("tokenKinds") { TokenKind.readSettings(&$0) }
        jwt = json.optionalNested("jwt") { Self.jwt(&$0) }
        checkRetention(&json)
    }

    /// R4: a tombstone must outlive late registrations. The store repeats the check against stored values.
    private func checkRetention(_ json: inout JSONReader) {
        guard let tombstoneRetention, let activityLifetime else { return }
        if tombstoneRetention < activityLifetime + .seconds(3600) {
            json.fault("tombstoneRetention", "must be at least activityLifetime plus one hour")
        }
    }

    private static func aliasRules(_ json: inout JSONReader) -> [UTF8Text: AliasRule] {
        var rules: [UTF8Text: AliasRule] = [:]
        for kind in json.object.keys {
            do throws(JSONFaultReason) {
                let checkedKind = try Alias.kind(kind)
                rules[checkedKind] = json.optional(kind, AliasRule.read)
            } catch {
                json.fault(kind, error.detail)
            }
        }
        return rules
    }
}

extension AppChanges {
    /// Checks `{issuer, audience, jwksUrl | jwks, audienceClaim, subjectClaim}` and keeps it unchanged, without nulls.
    /// `{}` disables JWTs.
    private static func jwt(_ json: inout JSONReader) -> JSONObject? {
        guard !json.object.isEmpty else { return JSONObject() }
        _ = json.string("issuer", text)
        _ = json.oneOrMore("audience", maximumCount: 16) { value throws(JSONFaultReason) in try text(.read(value)) }
        if json.object["audience"] == [] { json.fault("audience", "must contain at least one value") }
        for claim in ["audienceClaim", "subjectClaim"] { _ = json.optionalString(claim, text) }
        // The server checks whether it may fetch this URL.
        let url = json.optionalString("jwksUrl", webURL)
        let keys = json.optional("jwks", keySet)
        if json.faults.isEmpty, (url == nil) == (keys == nil) {
            json.fault(nil, "must have either jwksUrl or jwks")
        }
        if JSONValue.object(json.object).containsNulCharacter {
            json.fault(nil, "must not contain the character U+0000")
        }
        return JSONObject(json.object.filter { !$0.value.isNull }.map { ($0.key, $0.value) })
    }

    private static func text(_ text: String) throws(JSONFaultReason) -> String {
        try UTF8Text(name: text, maximumBytes: 1024).string
    }

    private static func webURL(_ text: String) throws(JSONFaultReason) -> String {
        guard text.utf8.count <= 2048, let url = URL(string: text), let host = url.host, !host.isEmpty,
            ["https", "http"].contains(url.scheme?.lowercased())
        else { throw JSONFaultReason("must be an https URL") }
        return text
    }

    private static func keySet(_ value: JSONValue) throws(JSONFaultReason) -> JSONValue {
        guard case .array(let keys) = value["keys"], keys.allSatisfy({ (try? JSONObject.read($0)) != nil }) else {
            throw JSONFaultReason("must be a JSON Web Key Set: an object with an array of objects, keys")
        }
        return value
    }
}
