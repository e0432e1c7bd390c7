import Crypto
import Foundation

/// Signs the JWTs of the app's users. The service trusts its key.
struct Issuer: Sendable {
    static let shared = Issuer()
    private static let name = "https://login.example.com"
    private let key = Curve25519.Signing.PrivateKey()

    var settings: [String: Any] {
        let point = Self.base64URL(key.publicKey.rawRepresentation)
        return [
            "issuer": Self.name, "audience": ["food"],
            "jwks": ["keys": [["kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": point]]],
        ]
    }

    /// A user's JWT. The service checks it by the real clock.
    func token(of user: String, isExpired: Bool = false) -> String {
        let now = Int(Date().timeIntervalSince1970) - (isExpired ? 7200 : 0)
        let header: [String: Any] = ["alg": "EdDSA", "kid": "ed", "typ": "JWT"]
        let claims: [String: Any] = [
            "iss": Self.name, "aud": "food", "sub": user, "iat": now, "nbf": now, "exp": now + 3600,
        ]
        let text = [header, claims].map { Self.base64URL(Self.json($0)) }.joined(separator: ".")
        // Signing with a valid key does not fail.
        let signature = try? key.signature(for: Data(text.utf8))
        return "\(text).\(Self.base64URL(signature ?? Data()))"
    }

    /// The user of the JWT in `Authorization`; nil without a JWT.
    static func subject(of authorization: String) -> String? {
        let parts = authorization.dropFirst("Bearer ".count).split(separator: ".")
        guard parts.count == 3 else { return nil }
        let text = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
        let claims = Data(base64Encoded: padded).flatMap { try? JSONSerialization.jsonObject(with: $0) }
        return (claims as? [String: Any])?["sub"] as? String
    }

    private static func json(_ object: [String: Any]) -> Data {
        (try? JSONSerialization.data(withJSONObject: object, options: .sortedKeys)) ?? Data()
    }

    private static func base64URL(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
