import Foundation

package struct App: Sendable, Hashable {
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
        self.id = id
        self.scopeIDs = scopeIDs
        self.bundleID = bundleID
        self.settings = settings
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

package struct ScopeIDs: Sendable, Hashable {
    private let sandbox: Int64
    private let production: Int64

    package init(sandbox: Int64, production: Int64) {
        self.sandbox = sandbox
        self.production = production
    }

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

    /// The built-in kinds of tokens and the app's own.
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

extension App: JSONObjectEncodable {
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
