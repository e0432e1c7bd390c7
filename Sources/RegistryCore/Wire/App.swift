import Foundation

/// An iOS app and its settings.
public struct App: Sendable, Hashable {
    /// The internal number that every row of the app begins with; it does not travel.
    public let number: Int64
    public let bundleID: BundleID
    public var settings: AppSettings
    public let createdAt: Date
    public let updatedAt: Date

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
    public var name: String?
    /// How long an activity's token is handed out, counted from `startedAt`; iOS ends an activity after 8 hours.
    public var activityLifetime: Duration
    /// How long an ended activity is remembered; at least the lifetime and an hour.
    public var tombstoneRetention: Duration
    /// How long audit events are kept.
    public var eventRetention: Duration
    /// Who may set an alias of a kind; kinds that are not named follow the defaults.
    public var aliasRules: [String: AliasRule]
    /// How the JWTs of signed-in users are checked, as the admin gave it.
    public var jwt: JSONObject?

    public init(
        name: String? = nil,
        activityLifetime: Duration = .seconds(8 * 3600),
        tombstoneRetention: Duration = .seconds(7 * 86_400),
        eventRetention: Duration = .seconds(90 * 86_400),
        aliasRules: [String: AliasRule] = [:],
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
    public var name: String?
    public var activityLifetime: Duration?
    public var tombstoneRetention: Duration?
    public var eventRetention: Duration?
    public var aliasRules: [String: AliasRule]?
    public var jwt: JSONObject?

    public init() {}
}

/// Who may set an alias of a kind.
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
