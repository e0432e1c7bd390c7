import Foundation

/// The bytes of a push token: 1 to 512, because Apple documents no fixed length.
///
/// Only responses to senders and the database contain a complete token, so its description does not.
package struct PushToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Binary, as APNs gave it to the device.
    package let bytes: [UInt8]
    package static let maximumBytes = 512

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads hex of even length in upper or lower case.
    ///
    /// - Throws: A sentence that never contains the token.
    package init(hexadecimal: String) throws(JSONFaultReason) {
        guard hexadecimal.utf8.count <= Self.maximumBytes * 2 else {
            throw JSONFaultReason("must be at most \(Self.maximumBytes) bytes, \(Self.maximumBytes * 2) hex digits")
        }
        guard let bytes = Hexadecimal.decode(hexadecimal), !bytes.isEmpty else {
            throw JSONFaultReason("must be a push token in hex: an even number of the digits 0-9 and a-f")
        }
        self.bytes = bytes
    }

    package var description: String { "(push token of \(bytes.count) bytes)" }
    package var debugDescription: String { description }
}

package struct TokenRegistration: Sendable, Hashable {
    package let token: PushToken
    /// The device's clock when the system delivered the token. Nil means the time of receipt.
    package var observedAt: Date?

    package init(token: PushToken, observedAt: Date? = nil) { (self.token, self.observedAt) = (token, observedAt) }

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
