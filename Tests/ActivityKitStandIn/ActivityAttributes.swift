// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The names are Apple's, and so is their documentation.

import Foundation

/// The type of what an activity shows, fixed and changing.
public protocol ActivityAttributes: Decodable, Encodable {
    associatedtype ContentState: Decodable, Encodable, Hashable
}

/// The state of an activity.
public enum ActivityState: Codable, Equatable, Hashable, Sendable {
    case active
    case pending
    case stale
    case ended
    case dismissed
}

/// The changing part of an activity.
public struct ActivityContent<State: Decodable & Encodable & Hashable> {
    public var state: State

    public init(state: State, staleDate: Date?, relevanceScore: Double = 0) { self.state = state }
}

extension ActivityContent: Sendable where State: Sendable {}

/// When an activity that has ended leaves the screen.
public struct ActivityUIDismissalPolicy: Equatable, Sendable {
    let isImmediate: Bool

    public static let `default` = ActivityUIDismissalPolicy(isImmediate: false)
    public static let immediate = ActivityUIDismissalPolicy(isImmediate: true)
}

/// Whether an activity is updated by pushes.
public struct PushType: Equatable, Sendable {
    public static let token = PushType()
}

/// The style of an activity.
public enum ActivityStyle: Sendable { case standard, transient }

/// The alert with which a scheduled activity starts.
public struct AlertConfiguration: Sendable {
    public init() {}
}
