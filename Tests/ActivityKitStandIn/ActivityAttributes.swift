// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents these names.

import Foundation

public protocol ActivityAttributes: Decodable, Encodable {
    associatedtype ContentState: Decodable, Encodable, Hashable
}

public enum ActivityState: Codable, Equatable, Hashable, Sendable {
    case active
    case pending
    case stale
    case ended
    case dismissed
}

public struct ActivityContent<State: Decodable & Encodable & Hashable> {
    public var state: State

    public init(state: State, staleDate: Date?, relevanceScore: Double = 0) { self.state = state }
}

extension ActivityContent: Sendable where State: Sendable {}

public struct ActivityUIDismissalPolicy: Equatable, Sendable {
    let isImmediate: Bool

    public static let `default` = ActivityUIDismissalPolicy(isImmediate: false)
    public static let immediate = ActivityUIDismissalPolicy(isImmediate: true)
}

public struct PushType: Equatable, Sendable { public static let token = PushType() }

public enum ActivityStyle: Sendable { case standard, transient }

public struct AlertConfiguration: Sendable { public init() {} }

public final class ActivityAuthorizationInfo {
    public typealias ActivityEnablementUpdates = Updates<Bool>

    private static let enabled = Broadcast(true)

    public init() {}

    public var areActivitiesEnabled: Bool { Self.enabled.value }
    public var frequentPushesEnabled: Bool { true }
    public var activityEnablementUpdates: ActivityEnablementUpdates { Updates { Self.enabled.subscribe() } }
    public static func `switch`(on: Bool) { enabled.send(on) }
}
