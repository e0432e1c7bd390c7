// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The names are Apple's, and so is their documentation.

/// The switches in Settings.
public final class ActivityAuthorizationInfo {
    public typealias ActivityEnablementUpdates = Updates<Bool>

    private static let enabled = Broadcast(true)

    public init() {}

    public var areActivitiesEnabled: Bool { Self.enabled.value }
    public var frequentPushesEnabled: Bool { true }
    public var activityEnablementUpdates: ActivityEnablementUpdates { Updates { Self.enabled.subscribe() } }

    /// A test moves the switch.
    public static func `switch`(on: Bool) { enabled.send(on) }
}
