import Foundation

/// What a client says of an activity: a registration, a rotation or a refresh; without a token, a sign of life.
public struct ActivityRegistration: Sendable, Hashable {
    public var token: PushToken?
    /// The device's clock when `pushTokenUpdates` delivered the token; nil counts as the time of receipt.
    public var observedAt: Date?
    public var startedAt: Date?
    public var installation: InstallationHash?
    /// The `sub` of the signed-in user who registers.
    public var subject: String?
    public var attributesType: AttributesType?
    /// Replaces all aliases when given.
    public var aliases: AliasSet?
    /// The aliases of an activity for which none were ever given.
    public var defaultAliases: AliasSet?
    public var frequentPushesEnabled: Bool?
    /// Replaces all metadata when given.
    public var metadata: Metadata?

    public init(token: PushToken?) { self.token = token }
}
