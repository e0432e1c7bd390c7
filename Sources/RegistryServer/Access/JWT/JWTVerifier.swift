import Crypto
import Foundation
import RegistryCore
import RegistryStore
import Synchronization

/// Verifies JWTs by the settings of the path's app, because a token names no app.
struct JWTVerifier: Sendable {
    let keys: IssuerKeys
    let clock: ServiceClock
    private let verified = VerifiedTokens()

    func knownUser(of name: VerifiedTokens.Name, _ app: App) -> Principal? {
        guard let proof = verified.proof(of: name), proof.appUpdatedAt == app.updatedAt,
            keys.areCurrent(proof.keys, of: app.bundleID),
            proof.validity.contains(clock.date().timeIntervalSince1970)
        else { return nil }
        return proof.user
    }

    /// Whether a token was valid at its last check, of any age.
    func wasValid(_ name: VerifiedTokens.Name) -> Bool { verified.proof(of: name) != nil }

    /// Caches the user under `name`, or forgets the token if it is invalid.
    ///
    /// - Throws: `unauthenticated`, or `unavailable` if the issuer's keys were never available.
    func user(of token: CompactJWT, named name: VerifiedTokens.Name, _ app: App) async throws(Problem) -> Principal {
        do throws(Problem) {
            let proof = try await verify(token, of: app)
            verified.add(proof, of: name)
            return proof.user
        } catch {
            if error.code == .unauthenticated { verified.remove(name) }
            throw error
        }
    }

    private func verify(_ token: CompactJWT, of app: App) async throws(Problem) -> VerifiedTokens.Proof {
        guard let requirements = JWTRequirements(app.settings.jwt) else { throw CompactJWT.unverified }
        // A stranger who does not know the issuer must not learn from the response or its time that the app exists.
        let knowsIssuer = token.claims["iss"] == .string(requirements.issuer)
        // Without `kid`, only a signature check shows whether the key is known.
        let found = await keys.keys(of: app) { !knowsIssuer || $0.names(token) || $0.verifies(token) }
        guard let found else { throw knowsIssuer ? noKeys(of: app.bundleID) : CompactJWT.unverified }
        guard found.verifies(token) else { throw CompactJWT.unverified }
        let (subject, validity) = try requirements.subject(of: token.claims, at: clock.date())
        return VerifiedTokens.Proof(
            user: Principal(role: .client, who: AuditName.user(subject), app: app.bundleID, subject: subject),
            validity: validity,
            keys: found,
            appUpdatedAt: app.updatedAt
        )
    }

    private func noKeys(of app: BundleID) -> Problem {
        let cause = keys.failure(of: app).map { ": its jwksUrl \($0)" } ?? " now"
        let detail = """
            The keys of the app's issuer cannot be fetched\(cause). Send the request again; if the error continues, an admin \
            must correct the jwksUrl.
            """
        return Problem(.unavailable, detail, retryAfter: .seconds(10))
    }
}

/// Verified JWTs by digest, which saves the signature check. A proof holds until the token expires, the issuer's keys
/// are fetched again, or the app changes.
final class VerifiedTokens: Sendable {
    struct Name: Sendable, Hashable {
        private let digest: SHA256.Digest

        init(_ text: Secret, of bundleID: BundleID) {
            var hash = SHA256()
            hash.update(data: Data("\(bundleID)\0".utf8))
            hash.update(data: Data(text.revealed.utf8))
            digest = hash.finalize()
        }
    }

    struct Proof: Sendable {
        let user: Principal
        /// In seconds since 1970.
        let validity: Range<TimeInterval>
        let keys: VerificationKeySet
        let appUpdatedAt: Date
    }

    /// About 500 bytes each, 10 MB in total.
    static let maximumCount = 20_000

    private struct State {
        /// Tokens used since the last rotation into `old`.
        var young: [Name: Proof] = [:]
        var old: [Name: Proof] = [:]

        /// Only issuers can create tokens, so callers cannot evict tokens at will.
        mutating func add(_ proof: Proof, of name: Name) {
            if young.count >= VerifiedTokens.maximumCount / 2 { (young, old) = ([:], young) }
            young[name] = proof
        }
    }

    private let state = Mutex(State())
    var count: Int { state.withLock { $0.young.count + $0.old.count } }

    /// The proof of a token. It can be invalid now.
    func proof(of name: Name) -> Proof? {
        state.withLock { state in
            if let proof = state.young[name] { return proof }
            guard let proof = state.old.removeValue(forKey: name) else { return nil }
            state.add(proof, of: name)
            return proof
        }
    }

    func add(_ proof: Proof, of name: Name) { state.withLock { $0.add(proof, of: name) } }

    func remove(_ name: Name) {
        state.withLock { state in
            state.young[name] = nil
            state.old[name] = nil
        }
    }
}

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

    /// Fields that change the meaning of a token. Fields with keys, such as `jku`, are ignored instead.
    private static let refusedFields = ["crit", "b64", "zip", "enc", "epk"]
    /// ID and access tokens. Other tokens, such as log-out tokens, are rejected.
    private static let types = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"]

    init(_ text: Secret) throws(Problem) {
        let parts = text.revealed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), !signature.isEmpty,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1])
        else { throw Self.refusal("It is not an API key or a signed JWT. Opaque and encrypted tokens are refused.") }
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
    /// Also for an unknown app and an app without an issuer, because strangers must not learn the difference.
    static var unverified: Problem { refusal("It is not signed by a key of the configured issuer.") }
}

struct JWTRequirements: Sendable {
    enum Source: Sendable {
        case keys(JSONValue)
        case url(String)
    }

    let issuer: String
    let audiences: [String]
    let audienceClaim: String
    let subjectClaim: String
    let source: Source

    /// For clock differences between issuer and service, in seconds.
    static let leeway: TimeInterval = 60

    init?(_ settings: JSONObject?) {
        guard let settings, case .string(let issuer)? = settings["issuer"] else { return nil }
        switch (settings["jwksUrl"], settings["jwks"]) {
        case (.string(let url)?, _): source = .url(url)
        case (_, let keys?): source = .keys(keys)
        default: return nil
        }
        self.issuer = issuer
        audiences = Self.texts(settings["audience"])
        audienceClaim = settings["audienceClaim"]?.string ?? "aud"
        subjectClaim = settings["subjectClaim"]?.string ?? "sub"
    }

    /// Returns the subject and the validity in seconds since 1970. The signature must be verified.
    func subject(of claims: JSONObject, at now: Date) throws(Problem) -> (UTF8Text, validity: Range<TimeInterval>) {
        guard claims["iss"] == .string(issuer) else {
            let others = [issuer + "/", issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer]
            let isSlash = others.contains { claims["iss"] == .string($0) }
            throw CompactJWT.refusal("Its iss is not the app's issuer\(isSlash ? ": only one ends with a slash" : "").")
        }
        guard let audience = claims[audienceClaim] else { throw CompactJWT.refusal("It has no \(audienceClaim).") }
        let named = Self.texts(audience)
        guard named.contains(where: { name in audiences.contains { UTF8Text($0) == UTF8Text(name) } }) else {
            throw CompactJWT.refusal("Its \(audienceClaim) is not the app's audience.")
        }
        let validity = try validity(of: claims, at: now.timeIntervalSince1970)
        guard let subject = claims[subjectClaim] else { throw CompactJWT.refusal("It has no \(subjectClaim).") }
        guard case .string(let text) = subject, let subject = try? UTF8Text.subject(text) else {
            throw CompactJWT.refusal("Its \(subjectClaim) must be 1 to 128 bytes of text without control characters.")
        }
        return (subject, validity)
    }

    private func validity(of claims: JSONObject, at now: TimeInterval) throws(Problem) -> Range<TimeInterval> {
        let end = try Self.seconds("exp", claims["exp"]) + Self.leeway
        guard now < end else { throw CompactJWT.refusal("Its exp is in the past.") }
        let start = try claims["nbf"].map { nbf throws(Problem) in try Self.seconds("nbf", nbf) - Self.leeway }
        if let start, now < start { throw CompactJWT.refusal("Its nbf is in the future.") }
        return (start ?? -.infinity)..<end
    }

    private static func seconds(_ claim: String, _ value: JSONValue?) throws(Problem) -> TimeInterval {
        let seconds: TimeInterval? =
            switch value {
            case .integer(let seconds): TimeInterval(seconds)
            case .number(let seconds): seconds
            default: nil
            }
        guard let seconds else { throw CompactJWT.refusal("Its \(claim) must be a number.") }
        // The year 5138 in seconds, or 1973 in milliseconds.
        guard seconds < 100_000_000_000 else { throw CompactJWT.refusal("Its \(claim) must be in seconds.") }
        return seconds
    }

    /// One text, or an array of texts only.
    static func texts(_ value: JSONValue?) -> [String] {
        guard case .array(let values)? = value else { return [value?.string].compactMap(\.self) }
        let texts = values.compactMap(\.string)
        return texts.count == values.count ? texts : []
    }
}
