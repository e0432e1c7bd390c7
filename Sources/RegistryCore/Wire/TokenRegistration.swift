import Foundation

package struct TokenRegistration: Sendable, Hashable {
    package let token: PushToken
    /// The device's clock when the system delivered the token. Nil means the time of receipt.
    package var observedAt: Date?

    package init(token: PushToken, observedAt: Date? = nil) {
        self.token = token
        self.observedAt = observedAt
    }

    package static func read(_ json: inout JSONReader) -> TokenRegistration? {
        let token = json.string("token", PushToken.init(hexadecimal:))
        let observedAt = json.optional("observedAt", Date.read)
        return token.map { TokenRegistration(token: $0, observedAt: observedAt) }
    }
}

/// A client's view of one of its installation's tokens, without the token.
package struct TokenStatus: Sendable, Hashable {
    package let slot: TokenSlot
    package let installation: InstallationHash
    /// Why the token is not deliverable: `rotated`, `deleted`, `logged-out`, `taken-over`, `kind-conflict`,
    /// `unregistered`, `quarantined`.
    package var reason: String?
    /// The device's clock at the current observation of the token or of its deletion.
    package var observedAt: Date?
    /// The server's clock at the last registration or refresh.
    package var confirmedAt: Date?

    package init(slot: TokenSlot, installation: InstallationHash) {
        self.slot = slot
        self.installation = installation
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.hex("installation", installation.bytes)
        json.member("kind", slot.kind.name)
        json.member("attributesType", ifPresent: slot.attributesType?.rawValue)
        json.member("reason", ifPresent: reason)
        json.member("observedAt", ifPresent: observedAt)
    }
}
