import Foundation

/// A client's statement about an installation's start or device token.
package struct TokenRegistration: Sendable, Hashable {
    /// The token that the installation has now.
    package let token: PushToken
    /// The device's clock when the system delivered the token; nil counts as the time of receipt.
    package var observedAt: Date?

    /// Makes a statement; without `observedAt` the token counts as observed when it is received.
    package init(token: PushToken, observedAt: Date? = nil) {
        self.token = token
        self.observedAt = observedAt
    }

    /// Reads `{token, observedAt}`; nil and faults in the reader when either is wrong.
    package static func read(_ json: inout JSONReader) -> TokenRegistration? {
        let token = json.string("token", PushToken.init(hexadecimal:))
        let observedAt = json.optionalTimestamp("observedAt")
        return token.map { TokenRegistration(token: $0, observedAt: observedAt) }
    }
}

/// The answer to a client about one of its installation's tokens; never the token.
package struct TokenStatus: Sendable, Hashable {
    /// The place of the token: its kind, and the attributes type of a start token.
    package let slot: TokenSlot
    /// The installation that the answer is about.
    package let installation: InstallationHash
    /// Why the token is not handed out: `rotated`, `deleted`, `logged-out`, `taken-over`, `kind-conflict`,
    /// `unregistered`, `quarantined`.
    package var reason: String?
    /// The device's clock at the observation that holds: of the current token, or of what removed it.
    package var observedAt: Date?
    /// The server's clock at the last registration or refresh.
    package var confirmedAt: Date?

    /// Makes a status without a reason and without times.
    package init(slot: TokenSlot, installation: InstallationHash) {
        self.slot = slot
        self.installation = installation
    }

    /// Writes the members `installation`, `kind`, `attributesType`, `reason` and `observedAt`.
    package func writeMembers(to json: inout JSONWriter) {
        json.hex("installation", installation.bytes)
        json.member("kind", slot.kind.name)
        json.member("attributesType", ifPresent: slot.attributesType?.rawValue)
        json.member("reason", ifPresent: reason)
        json.member("observedAt", ifPresent: observedAt)
    }
}

/// The answer to a registration of a start or device token that took effect.
package struct TokenRegistrationAnswer: Sendable, Hashable {
    /// The effect of the request; `reactivated` where the token's place had been emptied by a deletion or a log-out.
    package let outcome: RegistrationOutcome
    /// The token's status after the request.
    package let status: TokenStatus

    /// Makes an answer of its two parts.
    package init(outcome: RegistrationOutcome, status: TokenStatus) {
        self.outcome = outcome
        self.status = status
    }
}

extension TokenRegistrationAnswer: JSONEncodable {
    /// Writes `{installation, kind, attributesType, outcome, reason, observedAt, confirmedAt}`; no token comes back.
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            status.writeMembers(to: &json)
            json.member("outcome", outcome.rawValue)
            json.member("confirmedAt", ifPresent: status.confirmedAt)
        }
    }
}
