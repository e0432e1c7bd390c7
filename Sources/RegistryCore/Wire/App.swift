import Foundation

package struct App: Sendable, Hashable {
    /// Internal; no answer contains it.
    package let id: Int64
    package let scopeIDs: ScopeIDs
    package let bundleID: BundleID
    package var settings: AppSettings
    package let createdAt: Date
    /// Postgres's clock when the settings were last put, changed or not.
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

/// The ids of an app's two scopes, one for each environment.
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
    /// A name for people, 1 to 256 bytes of UTF-8; nil for none.
    package var name: String?
    /// How long an activity's token is handed out, counted from `startedAt`; iOS ends an activity after 8 hours.
    package var activityLifetime: Duration
    /// How long an ended activity is remembered; at least the lifetime and an hour.
    package var tombstoneRetention: Duration
    package var eventRetention: Duration
    /// The rules for who may set an alias, by its kind; kinds that are not named follow the defaults.
    package var aliasRules: [UTF8Text: AliasRule]
    package var jwt: JSONObject?

    /// The defaults of a new app.
    package init(
        name: String? = nil,
        activityLifetime: Duration = .seconds(8 * 3600),
        tombstoneRetention: Duration = .seconds(7 * 86_400),
        eventRetention: Duration = .seconds(90 * 86_400),
        aliasRules: [UTF8Text: AliasRule] = [:],
        jwt: JSONObject? = nil
    ) {
        self.name = name
        self.activityLifetime = activityLifetime
        self.tombstoneRetention = tombstoneRetention
        self.eventRetention = eventRetention
        self.aliasRules = aliasRules
        self.jwt = jwt
    }
}

package struct AppChanges: Sendable, Hashable {
    package var name: String?
    /// The lifetime of activities that become known from now on: a second to 7 days.
    package var activityLifetime: Duration?
    /// How long ended activities are remembered: at least the lifetime in force and an hour.
    package var tombstoneRetention: Duration?
    package var eventRetention: Duration?
    /// Replaces the rules of all kinds; those that it does not name follow the defaults again.
    package var aliasRules: [UTF8Text: AliasRule]?
    /// Replaces how JWTs are checked; an empty object turns them off.
    package var jwt: JSONObject?
    package init() {}
}

package enum AliasRule: String, Sendable, Hashable, CaseIterable {
    /// Any client.
    case any
    /// A client with a JWT.
    case signedIn = "signed-in"
    /// A client with a JWT whose `sub` equals the alias's value.
    case subject
    /// Sender and admin keys.
    case backend
}
