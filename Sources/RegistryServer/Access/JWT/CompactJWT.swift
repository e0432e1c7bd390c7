import Foundation
import RegistryCore

/// The algorithms of signatures that are taken. HMAC and `none` are not among them: a public key is no secret.
enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
}

/// A JWT in compact form, taken apart and not verified: nothing that it says may be believed yet.
struct CompactJWT: Sendable {
    let algorithm: SignatureAlgorithm
    /// Which of the issuer's keys signed it, as it says.
    let keyID: String?
    let claims: JSONObject
    /// Header and payload as they came: what the signature is about.
    let signedBytes: Data
    let signature: Data

    /// Header fields that name or carry a key of the token's own choice, or change how it is to be read.
    private static let refusedFields = ["crit", "jwk", "jku", "x5u", "x5c", "b64", "zip", "enc", "epk"]
    /// An ID or access token. One made for another purpose, such as a log-out, says so, and lets nobody in.
    private static let types = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"]

    /// - Throws: `unauthenticated`, with what is wrong with its form.
    init(_ text: Secret) throws(Problem) {
        let parts = text.revealed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), !signature.isEmpty,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1])
        else { throw Self.refusal("It is neither an API key nor a JWT in compact form.") }
        guard case .string(let name) = header["alg"], let algorithm = SignatureAlgorithm(rawValue: name) else {
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

    /// The answer to a JWT that cannot be valid for any app.
    static func refusal(_ reason: String) -> Problem { Problem(.unauthenticated, "The JWT is not valid. \(reason)") }
}
