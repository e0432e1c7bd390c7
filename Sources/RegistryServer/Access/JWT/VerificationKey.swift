import Foundation
import JWTKit
import RegistryCore

struct VerificationKey: Sendable {
    let id: String?
    let algorithm: SignatureAlgorithm
    private let verifier: any JWTAlgorithm

    /// In bits. Longer keys are slow to verify.
    static let rsaBits = 2048...4096

    /// Reads a JSON Web Key (RFC 7517). Nil for other kinds and uses of keys, which sets can contain.
    init?(_ json: JSONObject) async {
        guard let algorithm = Self.algorithm(of: json), Self.isForSignatures(json, algorithm) else { return nil }
        id = json["kid"]?.string
        guard id != nil || json["kid"] == nil, let verifier = try? await Self.verifier(algorithm, json) else {
            return nil
        }
        self.algorithm = algorithm
        self.verifier = verifier
    }

    func verifies(_ token: CompactJWT) -> Bool {
        guard token.algorithm == algorithm else { return false }
        return (try? verifier.verify(token.signature, signs: token.signedBytes)) ?? false
    }

    private static func algorithm(of json: JSONObject) -> SignatureAlgorithm? {
        switch (json["kty"]?.string, json["crv"]?.string) {
        case ("RSA", nil): .rs256
        case ("EC", "P-256"): .es256
        case ("OKP", "Ed25519"): .edDSA
        default: nil
        }
    }

    private static func isForSignatures(_ json: JSONObject, _ algorithm: SignatureAlgorithm) -> Bool {
        if let use = json["use"], use != "sig" { return false }
        if let name = json["alg"], name.string.flatMap(SignatureAlgorithm.init(name:)) != algorithm { return false }
        guard let operations = json["key_ops"] else { return true }
        guard case .array(let words) = operations else { return false }
        return words.contains("verify")
    }

    /// Whether the key is declared for another use or algorithm, such as encryption.
    static func isForOthers(_ json: JSONObject) -> Bool {
        if let use = json["use"], use != "sig" { return true }
        if let name = json["alg"]?.string, SignatureAlgorithm(name: name) == nil { return true }
        if case .array(let operations)? = json["key_ops"], !operations.contains("verify") { return true }
        return json["crv"]?.string.map { !["P-256", "Ed25519"].contains($0) } ?? false
    }

    /// - Throws: An error if the key is not a point of the curve, or its modulus is outside of ``rsaBits``.
    private static func verifier(_ algorithm: SignatureAlgorithm, _ json: JSONObject) async throws -> any JWTAlgorithm {
        let keys = JWTKeyCollection()
        switch algorithm {
        case .rs256:
            let modulus = try number("n", json)
            guard rsaBits.contains(bitCount(modulus)) else { throw JSONFaultReason("must be of 2048 to 4096 bits") }
            let key = try Insecure.RSA.PublicKey(modulus: modulus, exponent: number("e", json))
            await keys.add(rsa: key, digestAlgorithm: .sha256)
        case .es256: await keys.add(ecdsa: try ES256PublicKey(parameters: (x: number("x", json), y: number("y", json))))
        case .edDSA: await keys.add(eddsa: try EdDSA.PublicKey(x: number("x", json), curve: .ed25519))
        }
        return try await keys.getKey()
    }

    private static func bitCount(_ base64URL: String) -> Int {
        let bytes = Base64URL.decode(base64URL)?.drop { $0 == 0 } ?? Data()
        return bytes.count * 8 - (bytes.first?.leadingZeroBitCount ?? 0)
    }

    private static func number(_ name: String, _ json: JSONObject) throws -> String {
        guard let text = json[name]?.string, Base64URL.decode(text)?.isEmpty == false else {
            throw JSONFaultReason("must be base64url")
        }
        return text
    }
}

/// An issuer's JSON Web Key Set. Sets are compared by identity: each fetch gives a new one.
final class VerificationKeySet: Sendable {
    let keys: [VerificationKey]
    static let maximumCount = 64
    /// The limit per token, because each candidate costs a verification.
    static let maximumCandidates = 4

    static func read(_ json: JSONValue) async throws(JSONFaultReason) -> VerificationKeySet {
        guard let set = await VerificationKeySet(json) else { throw JSONFaultReason(fault(of: json)) }
        guard !set.keys.isEmpty else { throw JSONFaultReason("has no keys for RS256, ES256 or EdDSA") }
        return set
    }

    private static func fault(of json: JSONValue) -> String {
        if json["jwks_uri"] != nil { return "is a discovery page; use the URL in its jwks_uri" }
        guard case .object(let object) = json,
            object.contains(where: { $0.value.string?.hasPrefix("-----BEGIN") == true })
        else { return "is not a JSON Web Key Set" }
        return "has certificates; use the issuer's JSON Web Key Set"
    }

    /// Reads `{"keys": […]}` and skips keys of other kinds. Nil for other values.
    init?(_ json: JSONValue) async {
        guard case .array(let values)? = json["keys"] else { return nil }
        var keys: [VerificationKey] = []
        for case .object(let object) in values.prefix(Self.maximumCount) {
            if let key = await VerificationKey(object) { keys.append(key) }
        }
        self.keys = keys
    }

    func names(_ token: CompactJWT) -> Bool { token.keyID != nil && candidates(for: token).contains { $0.id != nil } }

    /// Keys of the token's algorithm with its `kid`, or else keys without `kid`. For a token without `kid`, any keys of
    /// its algorithm.
    func candidates(for token: CompactJWT) -> [VerificationKey] {
        let fitting = keys.filter { $0.algorithm == token.algorithm }
        guard let id = token.keyID else { return Array(fitting.prefix(Self.maximumCandidates)) }
        let named = fitting.filter { $0.id.map { UTF8Text($0) == UTF8Text(id) } ?? false }
        return Array((named.isEmpty ? fitting.filter { $0.id == nil } : named).prefix(Self.maximumCandidates))
    }
}
