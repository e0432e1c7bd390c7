import Foundation

/// One running activity with its token, as a sender gets it.
public struct ResolvedActivity: Sendable, Hashable {
    /// The immutable internal number that pages are ordered by; it does not travel.
    public let number: Int64
    public let activityID: ActivityID
    public let token: PushToken
    public var installation: InstallationHash?
    public var attributesType: String?
    public var frequentPushesEnabled: Bool?
    public let startedAt: Date
    public let observedAt: Date
    public let confirmedAt: Date
    public let expiresAt: Date
    public let revision: Int

    public init(
        number: Int64,
        activityID: ActivityID,
        token: PushToken,
        startedAt: Date,
        observedAt: Date,
        confirmedAt: Date,
        expiresAt: Date,
        revision: Int
    ) {
        self.number = number
        self.activityID = activityID
        self.token = token
        self.startedAt = startedAt
        self.observedAt = observedAt
        self.confirmedAt = confirmedAt
        self.expiresAt = expiresAt
        self.revision = revision
    }
}
