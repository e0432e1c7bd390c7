import Foundation

/// One activity as a sender sees it, running or not: the token is there only while it may be handed out.
public struct ActivityRecord: Sendable, Hashable {
    public let answer: ActivityAnswer
    public var token: PushToken?
    public var installation: InstallationHash?
    public var attributesType: String?
    public var frequentPushesEnabled: Bool?
    public var startedAt: Date

    public init(answer: ActivityAnswer, startedAt: Date) {
        self.answer = answer
        self.startedAt = startedAt
    }
}
