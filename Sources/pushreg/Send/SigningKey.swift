import Crypto
import Foundation
import RegistryCore

/// The key of a team, by which APNs knows who pushes. It says itself that it is a team's key, and nothing else of it.
struct SigningKey: Sendable {
    private let key: P256.Signing.PrivateKey
    private let keyID: String
    private let teamID: String

    /// Reads the `.p8` file of Apple's developer account: PKCS #8 in PEM, of an elliptic curve's P-256.
    ///
    /// - Throws: a ``CommandFailure`` that says what the file is not, and nothing of what is in it.
    init(file path: String, keyID: String, teamID: String) throws(CommandFailure) {
        let bytes = try JSONArgument.file("--key", path)
        self.key = try Self.read(String(decoding: bytes, as: UTF8.self), path)
        (self.keyID, self.teamID) = (keyID, teamID)
    }

    private static func read(_ text: String, _ path: String) throws(CommandFailure) -> P256.Signing.PrivateKey {
        let pem = text.trimmingCharacters(in: .whitespacesAndNewlines)
        do {
            return try P256.Signing.PrivateKey(pemRepresentation: pem)
        } catch {
            let isPEM = pem.hasPrefix("-----BEGIN ") && (error as? CryptoKitASN1Error) != .invalidPEMDocument
            throw CommandFailure(
                .usage,
                isPEM
                    ? "--key: \(path) holds no private key of the curve P-256, as APNs wants it."
                    : "--key: \(path) is no private key in PEM. Give the AuthKey_….p8 as it was downloaded."
            )
        }
    }

    /// A JWT (RFC 7519) that authorizes pushes for an hour.
    func token(at now: Date) throws -> Secret {
        let header: JSONObject = ["alg": "ES256", "kid": .string(keyID)]
        let claims: JSONObject = ["iss": .string(teamID), "iat": .integer(now.wholeSeconds)]
        let signed = Base64URL.encode(header.jsonBytes) + "." + Base64URL.encode(claims.jsonBytes)
        let signature = try key.signature(for: Data(signed.utf8))
        return Secret(signed + "." + Base64URL.encode(Array(signature.rawRepresentation)))
    }
}

extension Date {
    /// Seconds since 1970, rounded down.
    var wholeSeconds: Int64 { Int64(timeIntervalSince1970.rounded(.down)) }
}
