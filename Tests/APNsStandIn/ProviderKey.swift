import Crypto
import Foundation

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
        let signed = Base64URL.encode(Data(header.utf8)) + "." + Base64URL.encode(Data(claims.utf8))
        let signature = try key.signature(for: Data(signed.utf8))
        return signed + "." + Base64URL.encode(signature.rawRepresentation)
    }

    /// The `iat` of a JWT; nil if this key did not sign it.
    func issueTime(of token: String) -> Date? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            header["alg"] as? String == "ES256", header["kid"] as? String == keyID,
            claims["iss"] as? String == teamID, let issuedAt = claims["iat"] as? Int,
            let bytes = Base64URL.decode(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return Date(timeIntervalSince1970: Double(issuedAt))
    }

    private static func object(_ part: Substring) -> [String: Any]? {
        guard let bytes = Base64URL.decode(part) else { return nil }
        return (try? JSONSerialization.jsonObject(with: bytes)) as? [String: Any]
    }
}

enum Base64URL {
    static func encode(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    static func decode(_ text: Substring) -> Data? {
        let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
    }
}
