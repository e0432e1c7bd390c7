import Foundation
import JWTKit
import RegistryCore

/// One public key of an issuer, for one algorithm.
struct VerificationKey: Sendable {
    let id: String?
    let algorithm: SignatureAlgorithm
    private let verifier: any JWTAlgorithm

    /// The accepted sizes of RSA keys, in bits. Longer keys cost more to verify.
    static let rsaBits = 2048...4096

    /// Reads a JSON Web Key (RFC 7517); nil for other kinds and uses of keys, which a set may contain.
    init?(_ json: JSONObject) async {
        guard let algorithm = Self.algorithm(of: json), Self.isForSignatures(json, algorithm) else { return nil }
        guard let verifier = try? await Self.verifier(algorithm, json) else { return nil }
        id = json["kid"]?.string
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
        if let name = json["alg"], name != .string(algorithm.rawValue) { return false }
        guard let operations = json["key_ops"] else { return true }
        guard case .array(let words) = operations else { return false }
        return words.contains("verify")
    }

    /// - Throws: if the key's numbers are missing or invalid: no point of the curve, or a modulus outside of
    ///   ``rsaBits``.
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

/// The keys of an issuer's JSON Web Key Set. Each fetch is a new set, even with equal keys.
final class VerificationKeySet: Sendable {
    let keys: [VerificationKey]
    static let maximumCount = 64
    /// The most keys of one `kid` that are tried: each costs a verification.
    static let maximumCandidates = 4

    /// Reads `{"keys": […]}`; keys of other kinds are left out. Nil for any other value.
    init?(_ json: JSONValue) async {
        guard case .array(let values)? = json["keys"] else { return nil }
        var keys: [VerificationKey] = []
        for case .object(let object) in values.prefix(Self.maximumCount) {
            if let key = await VerificationKey(object) { keys.append(key) }
        }
        self.keys = keys
    }

    /// The keys of the token's `kid`, or, without one, the set's only key.
    func candidates(for token: CompactJWT) -> [VerificationKey] {
        let fitting = keys.filter { $0.algorithm == token.algorithm }
        guard let id = token.keyID else { return fitting.count == 1 ? fitting : [] }
        let named = fitting.filter { $0.id.map { UTF8Text($0) == UTF8Text(id) } ?? false }
        return Array(named.prefix(Self.maximumCandidates))
    }
}
