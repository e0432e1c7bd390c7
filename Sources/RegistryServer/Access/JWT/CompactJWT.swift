import Foundation
import RegistryCore

/// Excludes HMAC, because a public key is not a secret, and `none`.
enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"

    /// - Parameter name: From RFC 7518, RFC 8037 or RFC 9864.
    init?(name: String) { self.init(rawValue: name == "Ed25519" ? "EdDSA" : name) }
}

/// A parsed JWT. Its signature is not verified, so its claims cannot be trusted.
struct CompactJWT: Sendable {
    let algorithm: SignatureAlgorithm
    let keyID: String?
    let claims: JSONObject
    /// Header and payload as received.
    let signedBytes: Data
    let signature: Data

    /// Fields that change the meaning of a token. Fields with keys of the token's choice, such as `jku`, are ignored
    /// instead.
    private static let refusedFields = ["crit", "b64", "zip", "enc", "epk"]
    /// ID and access tokens. Other tokens, such as log-out tokens, are rejected.
    private static let types = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"]

    init(_ text: Secret) throws(Problem) {
        let parts = text.revealed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), !signature.isEmpty,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1])
        else { throw Self.refusal("It is neither an API key nor a JWT in compact form.") }
        guard let algorithm = header["alg"]?.string.flatMap(SignatureAlgorithm.init(name:)) else {
            throw Self.refusal("Its alg must be RS256, ES256 or EdDSA.")
        }
        if let field = Self.refusedFields.first(where: { header[$0] != nil }) {
            throw Self.refusal("Its header must not contain \(field).")
        }
        if let type = header["typ"], !Self.types.contains(type.string?.lowercased() ?? "") {
            throw Self.refusal("Its typ must be JWT or at+jwt.")
        }
        keyID = header["kid"]?.string
        guard keyID != nil || header["kid"] == nil else { throw Self.refusal("Its kid must be a string.") }
        self.algorithm = algorithm
        self.claims = claims
        self.signature = signature
        signedBytes = Data("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: Substring) -> JSONObject? {
        guard let bytes = Base64URL.decode(part),
            case .object(let object) = try? JSONParser.parse(bytes, maximumDepth: 16)
        else { return nil }
        return object
    }

    static func refusal(_ reason: String) -> Problem { Problem(.unauthenticated, "The JWT is not valid. \(reason)") }
}
