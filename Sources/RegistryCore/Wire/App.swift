import Foundation

/// An iOS app and its settings.
package struct App: Sendable, Hashable {
    /// The internal number that every row of the app begins with; it does not travel.
    package let number: Int64
    /// The id by which callers name the app.
    package let bundleID: BundleID
    /// The settings in force, defaults included.
    package var settings: AppSettings
    /// Postgres's clock when the app was made.
    package let createdAt: Date
    /// Postgres's clock when the settings were last put, changed or not; at first the same as ``createdAt``.
    package let updatedAt: Date

    /// Makes an app of its parts.
    package init(number: Int64, bundleID: BundleID, settings: AppSettings, createdAt: Date, updatedAt: Date) {
        self.number = number
        self.bundleID = bundleID
        self.settings = settings
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// The settings of an app, all of them in force.
package struct AppSettings: Sendable, Hashable {
    /// A name for people, 1 to 256 bytes of UTF-8; nil for none.
    package var name: String?
    /// How long an activity's token is handed out, counted from `startedAt`; iOS ends an activity after 8 hours.
    package var activityLifetime: Duration
    /// How long an ended activity is remembered; at least the lifetime and an hour.
    package var tombstoneRetention: Duration
    /// How long audit events are kept.
    package var eventRetention: Duration
    /// The rules for who may set an alias, by its kind; kinds that are not named follow the defaults.
    package var aliasRules: [UTF8Text: AliasRule]
    /// How the JWTs of signed-in users are checked, as the admin gave it.
    package var jwt: JSONObject?

    /// Makes settings; those not given have the defaults of a new app.
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

/// Changes to an app's settings; nil keeps what is there.
package struct AppChanges: Sendable, Hashable {
    /// A name for people, 1 to 256 bytes of UTF-8.
    package var name: String?
    /// The lifetime of activities that become known from now on: a second to 7 days.
    package var activityLifetime: Duration?
    /// How long ended activities are remembered: at least the lifetime in force and an hour.
    package var tombstoneRetention: Duration?
    /// How long audit events that are written from now on are kept.
    package var eventRetention: Duration?
    /// Replaces the rules of all kinds; those that it does not name follow the defaults again.
    package var aliasRules: [UTF8Text: AliasRule]?
    /// Replaces how JWTs are checked; an empty object turns them off.
    package var jwt: JSONObject?

    /// Makes changes that change nothing.
    package init() {}
}

/// The rule for who may set an alias of a kind.
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
