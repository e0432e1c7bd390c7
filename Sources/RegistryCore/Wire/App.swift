import Foundation

/// An iOS app and its settings.
public struct App: Sendable, Hashable {
    /// The internal number that every row of the app begins with; it does not travel.
    public let number: Int64
    /// The id by which callers name the app.
    public let bundleID: BundleID
    /// The settings in force, defaults included.
    public var settings: AppSettings
    /// Postgres's clock when the app was made.
    public let createdAt: Date
    /// Postgres's clock when the settings were last put, changed or not; at first the same as ``createdAt``.
    public let updatedAt: Date

    /// Makes an app of its parts.
    public init(number: Int64, bundleID: BundleID, settings: AppSettings, createdAt: Date, updatedAt: Date) {
        self.number = number
        self.bundleID = bundleID
        self.settings = settings
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// The settings of an app, all of them in force.
public struct AppSettings: Sendable, Hashable {
    /// A name for people, 1 to 256 bytes of UTF-8; nil for none.
    public var name: String?
    /// How long an activity's token is handed out, counted from `startedAt`; iOS ends an activity after 8 hours.
    public var activityLifetime: Duration
    /// How long an ended activity is remembered; at least the lifetime and an hour.
    public var tombstoneRetention: Duration
    /// How long audit events are kept.
    public var eventRetention: Duration
    /// The rules for who may set an alias, by its kind; kinds that are not named follow the defaults.
    public var aliasRules: [UTF8Text: AliasRule]
    /// How the JWTs of signed-in users are checked, as the admin gave it.
    public var jwt: JSONObject?

    /// Makes settings; those not given have the defaults of a new app.
    public init(
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
public struct AppChanges: Sendable, Hashable {
    /// A name for people, 1 to 256 bytes of UTF-8.
    public var name: String?
    /// The lifetime of activities that become known from now on: a second to 7 days.
    public var activityLifetime: Duration?
    /// How long ended activities are remembered: at least the lifetime in force and an hour.
    public var tombstoneRetention: Duration?
    /// How long audit events that are written from now on are kept.
    public var eventRetention: Duration?
    /// Replaces the rules of all kinds; those that it does not name follow the defaults again.
    public var aliasRules: [UTF8Text: AliasRule]?
    /// Replaces how JWTs are checked; an empty object turns them off.
    public var jwt: JSONObject?

    /// Makes changes that change nothing.
    public init() {}
}

/// The rule for who may set an alias of a kind.
public enum AliasRule: String, Sendable, Hashable, CaseIterable {
    /// Any client.
    case any
    /// A client with a JWT.
    case signedIn = "signed-in"
    /// A client with a JWT whose `sub` equals the alias's value.
    case subject
    /// Sender and admin keys.
    case backend
}
