import Foundation

package struct App: Sendable, Hashable, JSONObjectEncodable {
    /// Internal. Responses never contain it.
    package let id: Int64
    package let scopeIDs: ScopeIDs
    package let bundleID: BundleID
    package var settings: AppSettings
    package let createdAt: Date
    /// Postgres's clock at the last `PUT` of the settings, whether or not it changed them.
    package let updatedAt: Date

    package init(
        id: Int64,
        scopeIDs: ScopeIDs,
        bundleID: BundleID,
        settings: AppSettings,
        createdAt: Date,
        updatedAt: Date
    ) {
        (self.id, self.scopeIDs, self.bundleID, self.settings) = (id, scopeIDs, bundleID, settings)
        (self.createdAt, self.updatedAt) = (createdAt, updatedAt)
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("bundleId", bundleID.rawValue)
        json.member("name", ifPresent: settings.name)
        json.member("activityLifetime", settings.activityLifetime)
        json.member("tombstoneRetention", settings.tombstoneRetention)
        json.member("eventRetention", settings.eventRetention)
        json.object("aliasRules") { json in
            for (kind, rule) in settings.aliasRules.sorted(by: { $0.key < $1.key }) {
                json.member(kind.string, rule.rawValue)
            }
        }
        json.key("tokenKinds")
        json.value(settings.tokenKinds)
        if let jwt = settings.jwt, !jwt.isEmpty { json.member("jwt", jwt) }
        json.member("createdAt", createdAt)
        json.member("updatedAt", updatedAt)
    }
}

package struct ScopeIDs: Sendable, Hashable {
    private let sandbox: Int64
    private let production: Int64

    package init(sandbox: Int64, production: Int64) { (self.sandbox, self.production) = (sandbox, production) }

    package subscript(environment: APNSEnvironment) -> Int64 {
        switch environment {
        case .sandbox: sandbox
        case .production: production
        }
    }
}

package struct AppSettings: Sendable, Hashable {
    /// A display name, 1 to 256 bytes of UTF-8.
    package var name: String?
    /// How long a token is deliverable, from `startedAt`. iOS ends an activity after 8 hours.
    package var activityLifetime = Duration.seconds(8 * 3600)
    package var tombstoneRetention = Duration.seconds(7 * 86_400)
    package var eventRetention = Duration.seconds(90 * 86_400)
    /// The callers that may set an alias, by its kind. Other kinds have the default rules.
    package var aliasRules: [UTF8Text: AliasRule] = [:]
    /// The app's own kinds of tokens, in addition to the built-in kinds.
    package var tokenKinds: [TokenKind] = []
    package var jwt: JSONObject?

    package var allTokenKinds: [TokenKind] { TokenKind.all + tokenKinds }

    package init() {}
}

package enum AliasRule: String, Sendable, Hashable, CaseIterable {
    case any
    case signedIn = "signed-in"
    /// A client with a JWT that has the alias's value as its `sub`.
    case subject
    case backend
}

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
        // R4: a tombstone must outlive late registrations. The store repeats the check against stored values.
        if let tombstoneRetention, let activityLifetime, tombstoneRetention < activityLifetime + .seconds(3600) {
            json.fault("tombstoneRetention", "must be at least activityLifetime plus one hour")
        }
    }

    private static func aliasRules(_ json: inout JSONReader) -> [UTF8Text: AliasRule] {
        var rules: [UTF8Text: AliasRule] = [:]
        for kind in json.object.keys {
            do throws(JSONFaultReason) {
                let checkedKind = try Alias.kind(kind)
                rules[checkedKind] = json.optional(kind, AliasRule.read)
            } catch { json.fault(kind, error.detail) }
        }
        return rules
    }

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
        if json.faults.isEmpty, (url == nil) == (keys == nil) { json.fault(nil, "must have either jwksUrl or jwks") }
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
