import Foundation

/// The JWTs of one key that APNs has received, and the rules for them.
package struct ProviderTokens: Sendable {
    /// A valid JWT and its `iat`.
    package struct Seen: Sendable, Equatable {
        package let token: String
        package let issuedAt: Date
        package let isAccepted: Bool
    }

    static let lifetime: TimeInterval = 60 * 60
    /// Apple: refresh the token no more than once every 20 minutes.
    static let shortestInterval: TimeInterval = 20 * 60
    let key: ProviderKey
    package private(set) var seen: [Seen] = []
    private var acceptedAt = Date.distantPast

    init(key: ProviderKey) { self.key = key }

    /// The refusal of a request with this `authorization`; nil if it is valid.
    mutating func refusal(of authorization: String?, at now: Date) -> PushResponse? {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else {
            return PushResponse(403, "MissingProviderToken")
        }
        let token = String(authorization.dropFirst("bearer ".count))
        guard let issuedAt = key.issueTime(of: token), issuedAt <= now.addingTimeInterval(60) else {
            return PushResponse(403, "InvalidProviderToken")
        }
        guard now.timeIntervalSince(issuedAt) <= Self.lifetime else { return PushResponse(403, "ExpiredProviderToken") }
        return isUpdateTooEarly(token, issuedAt, now) ? PushResponse(429, "TooManyProviderTokenUpdates") : nil
    }

    private mutating func isUpdateTooEarly(_ token: String, _ issuedAt: Date, _ now: Date) -> Bool {
        if let known = seen.first(where: { $0.token == token }) { return !known.isAccepted }
        let isAccepted = now.timeIntervalSince(acceptedAt) >= Self.shortestInterval
        seen.append(Seen(token: token, issuedAt: issuedAt, isAccepted: isAccepted))
        if isAccepted { acceptedAt = now }
        return !isAccepted
    }
}
