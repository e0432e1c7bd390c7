import Foundation

extension AppChanges {
    /// iOS ends an activity after 8 hours and shows it for 4 more.
    package static let longestActivityLifetime = Duration.seconds(7 * 86_400)
    package static let longestRetention = Duration.seconds(3660 * 86_400)

    package init(from json: inout JSONReader) {
        self.init()
        name = json.optionalString("name", APIKeyRequest.name)
        activityLifetime = json.optional("activityLifetime", Self.duration(upTo: Self.longestActivityLifetime))
        tombstoneRetention = json.optional("tombstoneRetention", Self.duration(upTo: Self.longestRetention))
        eventRetention = json.optional("eventRetention", Self.duration(upTo: Self.longestRetention))
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

    private static func duration(upTo longest: Duration) -> (JSONValue) throws(JSONFaultReason) -> Duration {
        { value throws(JSONFaultReason) in
            let duration = try Duration.read(value)
            try Self.check(duration, upTo: longest)
            return duration
        }
    }

    static func check(_ duration: Duration, upTo longest: Duration) throws(JSONFaultReason) {
        guard duration >= .seconds(1), duration <= longest else {
            throw JSONFaultReason("must be from PT1S to \(ISO8601Duration.format(longest))")
        }
    }

    private static func aliasRules(_ json: inout JSONReader) -> [UTF8Text: AliasRule] {
        var rules: [UTF8Text: AliasRule] = [:]
        for kind in json.object.keys {
            do throws(JSONFaultReason) {
                try Alias.checkKind(kind)
                rules[UTF8Text(kind)] = json.optionalChoice(kind)
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
        _ = json.oneOrMore("audience", maximumCount: 16) { value throws(JSONFaultReason) in try text(String.read(value))
        }
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
        try ActivityID.check(text, maximumBytes: 1024)
        return text
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
