import Crypto
import Foundation
import RegistryCore

/// A team's key for token-based authentication, new for each test.
package struct ProviderKey: Sendable {
    package let keyID: String
    package let teamID: String
    private let key = P256.Signing.PrivateKey()

    package init(keyID: String = "ABC123DEFG", teamID: String = "TEAM123456") {
        self.keyID = keyID
        self.teamID = teamID
    }

    package var pem: String { key.pemRepresentation }

    package func token(issuedAt: Date) throws -> String {
        let header = #"{"alg":"ES256","kid":"\#(keyID)"}"#
        let claims = #"{"iss":"\#(teamID)","iat":\#(Int(issuedAt.timeIntervalSince1970))}"#
        let signed = [header, claims].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        let signature = try key.signature(for: Data(signed.utf8))
        return signed + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }

    /// The `iat` of a JWT; nil if this key did not sign it.
    func issueTime(of token: String) -> Date? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            header["alg"] == "ES256", header["kid"] == .string(keyID), claims["iss"] == .string(teamID),
            let issuedAt = claims["iat"]?.integer,
            let bytes = Base64URL.decode(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return Date(timeIntervalSince1970: Double(issuedAt))
    }

    private static func object(_ part: Substring) -> JSONValue? {
        Base64URL.decode(part).flatMap { try? JSONParser.parse($0) }
    }
}

extension JSONValue {
    var integer: Int? {
        guard case .integer(let value) = self else { return nil }
        return Int(value)
    }
}
