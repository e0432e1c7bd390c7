import Crypto
import CryptoExtras
import Foundation
import RegistryCore

/// An issuer of JWTs with its own keys, which also signs invalid tokens.
package struct TestIssuer: Sendable {
    package enum Key: String, Sendable, CaseIterable {
        case rsa
        case ec
        case ed

        package var algorithm: String {
            switch self {
            case .rsa: "RS256"
            case .ec: "ES256"
            case .ed: "EdDSA"
            }
        }
    }

    package static let name = "https://login.example.com"
    package static let audience = "food"

    /// The trusted issuer, and an impostor with the same names and other keys.
    package static let honest = TestIssuer()
    package static let stranger = TestIssuer()
    package let rsa: _RSA.Signing.PrivateKey
    package let ec = P256.Signing.PrivateKey()
    package let ed = Curve25519.Signing.PrivateKey()

    package init() { rsa = try! _RSA.Signing.PrivateKey(keySize: .bits2048) }

    package var keySet: JSONValue { ["keys": .array(Key.allCases.map { .object(publicKey($0)) })] }

    package func publicKey(_ key: Key) -> JSONObject {
        switch key {
        case .rsa:
            let numbers = try! rsa.publicKey.getKeyPrimitives()
            return [
                "kty": "RSA", "kid": "rsa", "n": .base64URL(numbers.modulus), "e": .base64URL(numbers.publicExponent),
            ]
        case .ec:
            let point = ec.publicKey.rawRepresentation
            return [
                "kty": "EC", "crv": "P-256", "kid": "ec", "x": .base64URL(point.prefix(32)),
                "y": .base64URL(point.suffix(32)), "use": "sig", "alg": "ES256",
            ]
        case .ed:
            let point = ed.publicKey.rawRepresentation
            return ["kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": .base64URL(point), "key_ops": ["verify"]]
        }
    }

    package var settings: JSONObject {
        ["issuer": .string(Self.name), "audience": [.string(Self.audience), "drink"], "jwks": keySet]
    }

    /// The settings of an app whose users' keys come from a URL.
    package static func settings(keysAt url: String) -> JSONObject {
        honest.settings.overlaid(by: ["jwks": .null, "jwksUrl": .string(url)])
    }

    /// A valid token with these changes; null removes a member.
    package func token(_ key: Key = .ec, header: JSONObject = [:], claims: JSONObject = [:], at now: Date) -> String {
        let sound: JSONObject = ["alg": .string(key.algorithm), "kid": .string(key.rawValue), "typ": "JWT"]
        let second = Int64(now.timeIntervalSince1970)
        let usual: JSONObject = [
            "iss": .string(Self.name), "aud": .string(Self.audience), "sub": "u-1", "iat": .integer(second),
            "nbf": .integer(second), "exp": .integer(second + 3600),
        ]
        return signed(key, .object(sound.overlaid(by: header)), .object(usual.overlaid(by: claims)))
    }

    package func signed(_ key: Key, _ header: JSONValue, _ payload: JSONValue) -> String {
        signed(key, "\(Self.base64URL(header.jsonBytes)).\(Self.base64URL(payload.jsonBytes))")
    }

    package func signed(_ key: Key, _ text: String) -> String { "\(text).\(Self.base64URL(signature(key, of: text)))" }

    private func signature(_ key: Key, of text: String) -> Data {
        let bytes = Data(text.utf8)
        return switch key {
        case .rsa: try! rsa.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation
        case .ec: try! ec.signature(for: bytes).rawRepresentation
        case .ed: try! ed.signature(for: bytes)
        }
    }

    package static func base64URL(_ bytes: some DataProtocol) -> String { Base64URL.encode(Array(bytes)) }
}

extension JSONObject {
    /// The members of both; null removes a member.
    package func overlaid(by others: JSONObject) -> JSONObject {
        var all = self
        for member in others { all[member.key] = member.value.isNull ? nil : member.value }
        return all
    }
}

extension JSONValue {
    package static func base64URL(_ bytes: some DataProtocol) -> JSONValue { .string(TestIssuer.base64URL(bytes)) }
}
