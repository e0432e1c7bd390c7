import Foundation

/// What a client says of an installation's start or device token.
public struct TokenRegistration: Sendable, Hashable {
    public let token: PushToken
    /// The device's clock when the system delivered the token; nil counts as the time of receipt.
    public var observedAt: Date?

    public init(token: PushToken, observedAt: Date? = nil) {
        self.token = token
        self.observedAt = observedAt
    }

    /// Reads `{token, observedAt}`; nil and faults in the reader when either is wrong.
    public static func read(_ json: inout JSONReader) -> TokenRegistration? {
        let token = json.string("token", PushToken.init(hexadecimal:))
        let observedAt = json.optionalTimestamp("observedAt")
        return token.map { TokenRegistration(token: $0, observedAt: observedAt) }
    }
}

/// What a client is told about one of its installation's tokens; never the token.
public struct TokenStanding: Sendable, Hashable {
    public let slot: TokenSlot
    public let installation: InstallationHash
    /// Why the token is not handed out: `rotated`, `deleted`, `logged-out`, `taken-over`, `kind-conflict`,
    /// `unregistered`, `quarantined`.
    public var reason: String?
    /// The device's clock at the observation that holds: of the current token, or of what removed it.
    public var observedAt: Date?
    /// The server's clock at the last registration or refresh.
    public var confirmedAt: Date?

    public init(slot: TokenSlot, installation: InstallationHash) {
        self.slot = slot
        self.installation = installation
    }

    /// Writes the members `installation`, `kind`, `attributesType`, `reason` and `observedAt`.
    public func writeMembers(to json: inout JSONWriter) {
        json.hex("installation", installation.bytes)
        json.member("kind", slot.kind.name)
        json.member("attributesType", ifPresent: slot.attributesType?.rawValue)
        json.member("reason", ifPresent: reason)
        json.member("observedAt", ifPresent: observedAt)
    }
}

/// The answer to a registration of a start or device token that took effect.
public struct TokenRegistrationAnswer: Sendable, Hashable {
    public let outcome: RegistrationOutcome
    public let standing: TokenStanding

    public init(outcome: RegistrationOutcome, standing: TokenStanding) {
        self.outcome = outcome
        self.standing = standing
    }
}

extension TokenRegistrationAnswer: JSONEncodable {
    /// Writes `{installation, kind, attributesType, outcome, reason, observedAt, confirmedAt}`; no token comes back.
    public func encode(to json: inout JSONWriter) {
        json.object { json in
            standing.writeMembers(to: &json)
            json.member("outcome", outcome.rawValue)
            json.member("confirmedAt", ifPresent: standing.confirmedAt)
        }
    }
}
