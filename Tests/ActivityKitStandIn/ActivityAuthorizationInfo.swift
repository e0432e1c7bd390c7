// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents these names.

public final class ActivityAuthorizationInfo {
    public typealias ActivityEnablementUpdates = Updates<Bool>

    private static let enabled = Broadcast(true)

    public init() {}

    public var areActivitiesEnabled: Bool { Self.enabled.value }
    public var frequentPushesEnabled: Bool { true }
    public var activityEnablementUpdates: ActivityEnablementUpdates { Updates { Self.enabled.subscribe() } }

    public static func `switch`(on: Bool) { enabled.send(on) }
}
