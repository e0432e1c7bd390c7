import Crypto
import Foundation
import RegistryCore

struct TestUsers: Sendable {
    static let shared = TestUsers()
    private let key = Curve25519.Signing.PrivateKey()

    var settings: JSONObject {
        let publicKey: JSONObject = [
            "kty": "OKP", "crv": "Ed25519", "kid": "probes",
            "x": .string(Self.base64URL(key.publicKey.rawRepresentation)),
        ]
        return ["issuer": "https://login.example.com", "audience": "food", "jwks": ["keys": [.object(publicKey)]]]
    }

    func token(of user: String) -> String {
        let header: JSONValue = ["alg": "EdDSA", "kid": "probes"]
        let payload: JSONValue = [
            "iss": "https://login.example.com", "aud": "food", "sub": .string(user),
            "exp": .integer(Int64(Date().timeIntervalSince1970) + 3600),
        ]
        let text = "\(Self.base64URL(header.jsonBytes)).\(Self.base64URL(payload.jsonBytes))"
        return "\(text).\(Self.base64URL(try! key.signature(for: Data(text.utf8))))"
    }

    private static func base64URL(_ bytes: some DataProtocol) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

extension Message {
    func by(user: String) -> Message { with("Authorization", "Bearer \(TestUsers.shared.token(of: user))") }
}
