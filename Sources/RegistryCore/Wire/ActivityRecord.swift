import Foundation

/// One activity as a sender sees it, running or not: the token is there only while it may be handed out.
public struct ActivityRecord: Sendable, Hashable {
    /// The id, the state and its reason, and the times, as a client gets them.
    public let answer: ActivityAnswer
    /// The current token; nil unless it may be handed out.
    public var token: PushToken?
    /// The installation on which it runs; nil when no request named one.
    public var installation: InstallationHash?
    /// The name of the `ActivityAttributes` type; nil when no request named it.
    public var attributesType: UTF8Text?
    /// Whether the user allows frequent pushes (ActivityKit: `frequentPushesEnabled`); nil if the app never said.
    public var frequentPushesEnabled: Bool?
    /// When it started: the earliest time that requests gave, or the first receipt.
    public var startedAt: Date
    /// When it starts, or started, if it was scheduled for later.
    public var startsAt: Date?

    /// Makes a record without a token; all else that may be nil is nil, too.
    public init(answer: ActivityAnswer, startedAt: Date) {
        self.answer = answer
        self.startedAt = startedAt
    }
}
