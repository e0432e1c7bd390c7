import Foundation
import RegistryCore

/// The accepted signature algorithms. HMAC and `none` are excluded: a public key is no secret.
enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"

    /// - Parameter name: of RFC 7518, RFC 8037 or RFC 9864.
    init?(name: String) { self.init(rawValue: name == "Ed25519" ? "EdDSA" : name) }
}

/// A JWT in compact form, parsed but not verified: its contents cannot be trusted yet.
struct CompactJWT: Sendable {
    let algorithm: SignatureAlgorithm
    /// The claimed id of the issuer's key.
    let keyID: String?
    let claims: JSONObject
    /// Header and payload as received: the signed bytes.
    let signedBytes: Data
    let signature: Data

    /// Header fields that change the interpretation of a token. Fields with a key of the token's choice, as jku, are ignored.
    private static let refusedFields = ["crit", "b64", "zip", "enc", "epk"]
    /// The types of ID and access tokens. Tokens for other purposes, such as a log-out, are rejected.
    private static let types = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"]

    init(_ text: Secret) throws(Problem) {
        let parts = text.revealed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), !signature.isEmpty,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1])
        else { throw Self.refusal("It is neither an API key nor a JWT in compact form.") }
        guard case .string(let name) = header["alg"], let algorithm = SignatureAlgorithm(name: name) else {
            throw Self.refusal("Its alg must be RS256, ES256 or EdDSA.")
        }
        if let field = Self.refusedFields.first(where: { header[$0] != nil }) {
            throw Self.refusal("Its header must not hold \(field).")
        }
        if let type = header["typ"] {
            guard case .string(let name) = type, Self.types.contains(name.lowercased()) else {
                throw Self.refusal("Its typ must be JWT or at+jwt.")
            }
        }
        keyID = try Self.keyID(header)
        self.algorithm = algorithm
        self.claims = claims
        self.signature = signature
        signedBytes = Data("\(parts[0]).\(parts[1])".utf8)
    }

    private static func keyID(_ header: JSONObject) throws(Problem) -> String? {
        switch header["kid"] {
        case nil: return nil
        case .string(let id): return id
        default: throw refusal("Its kid must be a string.")
        }
    }

    private static func object(_ part: Substring) -> JSONObject? {
        guard let bytes = Base64URL.decode(part),
            case .object(let object) = try? JSONParser.parse(bytes, maximumDepth: 16)
        else { return nil }
        return object
    }

    /// For a JWT that cannot be valid for any app.
    static func refusal(_ reason: String) -> Problem { Problem(.unauthenticated, "The JWT is not valid. \(reason)") }
}
