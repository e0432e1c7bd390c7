import Foundation

/// A start or device token, or one of a kind that installations have, as a sender gets it.
public struct ResolvedToken: Sendable, Hashable {
    public let kind: TokenKind
    public let token: PushToken
    public let installation: InstallationHash
    /// Only for start tokens.
    public let attributesType: String?
    public let observedAt: Date
    public let confirmedAt: Date

    public init(
        kind: TokenKind,
        token: PushToken,
        installation: InstallationHash,
        attributesType: String?,
        observedAt: Date,
        confirmedAt: Date
    ) {
        self.kind = kind
        self.token = token
        self.installation = installation
        self.attributesType = attributesType
        self.observedAt = observedAt
        self.confirmedAt = confirmedAt
    }

    /// Writes one token of an alias, with how to push to it.
    public func encode(to json: inout JSONWriter, in app: BundleID) {
        json.object { json in
            json.hex("token", token.bytes)
            json.hex("installation", installation.bytes)
            json.member("attributesType", ifPresent: attributesType)
            json.member("observedAt", observedAt)
            json.member("confirmedAt", confirmedAt)
            json.member("topic", kind.topic(of: app))
            json.member("pushType", kind.pushType)
        }
    }
}
