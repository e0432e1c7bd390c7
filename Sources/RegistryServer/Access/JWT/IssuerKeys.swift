import Crypto
import CryptoExtras
import Foundation
import Logging
import RegistryCore
import Synchronization

/// A cache of issuers' keys.
///
/// - A set is fetched for an unknown key, and if it is older than `maximumAge`.
/// - Each app has at most one fetch per `fetchInterval`, and one at a time.
/// - If fetches fail, the known keys stay valid.
final class IssuerKeys: Sendable {
    /// Also applies after failures.
    static let fetchInterval = Duration.seconds(60)
    /// Limits the use of a withdrawn key.
    static let maximumAge = Duration.seconds(15 * 60)

    private typealias Fetching = Task<VerificationKeySet?, Never>

    private struct Entry: Sendable {
        let settings: JSONObject
        var keys: VerificationKeySet?
        var fetchedAt: Duration?
        var triedAt: Duration?
        var fetching: Fetching?
        /// The last failure, if keys were never fetched.
        var failure: String?

        /// Keys in the settings do not age.
        func isStale(at now: Duration) -> Bool { fetchedAt.map { now - $0 >= IssuerKeys.maximumAge } ?? false }
    }

    private let fetch: @Sendable (String) async throws -> JSONValue
    private let clock: ServiceClock
    private let logger: Logger
    private let entries = Mutex<[BundleID: Entry]>([:])

    init(clock: ServiceClock, logger: Logger, fetch: @escaping @Sendable (String) async throws -> JSONValue) {
        (self.clock, self.logger, self.fetch) = (clock, logger, fetch)
    }

    func failure(of app: BundleID) -> String? { entries.withLock { $0[app]?.failure } }
    func forgetFailure(of app: BundleID) { entries.withLock { $0[app]?.failure = nil } }
    /// The number of apps whose keys this instance could never fetch.
    var failures: Int { entries.withLock { $0.values.count { $0.failure != nil } } }

    /// Whether `keys` are the app's current keys and still fresh.
    func areCurrent(_ keys: VerificationKeySet, of app: BundleID) -> Bool {
        let now = clock.uptime()
        return entries.withLock { entries in
            entries[app].map { $0.keys === keys && !$0.isStale(at: now) } ?? false
        }
    }

    /// A change of the app's setting `jwt` discards fetched keys. If no known set suffices for the token, keys are
    /// fetched, within the limit. Nil if no keys are known and the fetch fails.
    func keys(of app: App, suffices: @Sendable (VerificationKeySet) -> Bool) async -> VerificationKeySet? {
        guard let settings = app.settings.jwt, let source = JWTRequirements(settings)?.source else { return nil }
        let known = entries.withLock { entries in
            if entries[app.bundleID]?.settings != settings { entries[app.bundleID] = Entry(settings: settings) }
            return entries[app.bundleID]
        }
        let url: String
        switch source {
        case .url(let text): url = text
        case .keys(let json):
            if let keys = known?.keys { return keys }
            let keys = VerificationKeySet(json)
            change(app) { $0.keys = keys }
            return keys
        }
        if let known, let keys = known.keys, !known.isStale(at: clock.uptime()), suffices(keys) { return keys }
        let (keys, fetching) = startFetching(url, of: app)
        // Stale keys are used during the refresh if they suffice.
        if let keys, suffices(keys) { return keys }
        return await fetching?.value ?? keys
    }

    /// Returns the known keys, and the current fetch or a new one if due, under one lock. Otherwise a fetch could end
    /// in between unnoticed.
    private func startFetching(_ url: String, of app: App) -> (keys: VerificationKeySet?, fetching: Fetching?) {
        let now = clock.uptime()
        return change(app) { entry in
            if let fetching = entry.fetching { return (entry.keys, fetching) }
            if let triedAt = entry.triedAt, now - triedAt < Self.fetchInterval { return (entry.keys, nil) }
            let task = Task { await self.load(url, of: app, at: now) }
            entry.fetching = task
            entry.triedAt = now
            return (entry.keys, task)
        } ?? (nil, nil)
    }

    private func load(_ url: String, of app: App, at now: Duration) async -> VerificationKeySet? {
        do {
            let keys = try VerificationKeySet.read(try await fetch(url))
            change(app) { ($0.keys, $0.fetchedAt, $0.fetching, $0.failure) = (keys, now, nil, nil) }
            return keys
        } catch {
            let metadata: Logger.Metadata = ["app": "\(app.bundleID)", "reason": "\(error)"]
            logger.warning("the keys of an issuer could not be fetched", metadata: metadata)
            return change(app) { entry in
                entry.fetching = nil
                if entry.keys == nil { entry.failure = KeySetFetcher.reason(error) }
                return entry.keys
            } ?? nil
        }
    }

    /// Nil if the app has other settings now.
    @discardableResult
    private func change<Value>(_ app: App, _ body: (inout Entry) -> Value) -> Value? {
        entries.withLock { entries in
            guard entries[app.bundleID]?.settings == app.settings.jwt else { return nil }
            return body(&entries[app.bundleID]!)
        }
    }
}

struct VerificationKey: Sendable {
    let id: String?
    let algorithm: SignatureAlgorithm
    private let isSignatureValid: @Sendable (CompactJWT) -> Bool

    /// In bits. Longer keys are slow to verify.
    static let rsaBits = 2048...4096

    /// Reads a JSON Web Key (RFC 7517). Nil for other kinds and uses of keys, which sets can contain.
    init?(_ json: JSONObject) {
        func number(_ name: String) -> Data? { json[name]?.string.flatMap { Base64URL.decode($0) } }
        switch (json["kty"]?.string, json["crv"]?.string) {
        case ("RSA", nil):
            guard let modulus = number("n")?.drop(while: { $0 == 0 }), let first = modulus.first,
                Self.rsaBits.contains(modulus.count * 8 - first.leadingZeroBitCount), let exponent = number("e"),
                let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
            else { return nil }
            algorithm = .rs256
            isSignatureValid = { token in
                let signature = _RSA.Signing.RSASignature(rawRepresentation: token.signature)
                return key.isValidSignature(signature, for: token.signedBytes, padding: .insecurePKCS1v1_5)
            }
        case ("EC", "P-256"):
            guard let x = number("x"), let y = number("y"),
                let key = try? P256.Signing.PublicKey(rawRepresentation: x + y)
            else { return nil }
            algorithm = .es256
            isSignatureValid = { token in
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature)
                return signature.map { key.isValidSignature($0, for: token.signedBytes) } ?? false
            }
        case ("OKP", "Ed25519"):
            guard let x = number("x"), let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x) else {
                return nil
            }
            algorithm = .edDSA
            isSignatureValid = { key.isValidSignature($0.signature, for: $0.signedBytes) }
        default: return nil
        }
        id = json["kid"]?.string
        guard id != nil || json["kid"] == nil, Self.isForSignatures(json, algorithm) else { return nil }
    }

    func verifies(_ token: CompactJWT) -> Bool { token.algorithm == algorithm && isSignatureValid(token) }

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
}

/// An issuer's JSON Web Key Set. Sets are compared by identity: each fetch gives a new one.
final class VerificationKeySet: Sendable {
    let keys: [VerificationKey]
    static let maximumCount = 64
    /// The limit per token, because each candidate costs a verification.
    static let maximumCandidates = 4

    static func read(_ json: JSONValue) throws(JSONFaultReason) -> VerificationKeySet {
        guard let set = VerificationKeySet(json) else { throw JSONFaultReason(fault(of: json)) }
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
    init?(_ json: JSONValue) {
        guard case .array(let values)? = json["keys"] else { return nil }
        keys = values.prefix(Self.maximumCount).compactMap { value in
            guard case .object(let object) = value else { return nil }
            return VerificationKey(object)
        }
    }

    func verifies(_ token: CompactJWT) -> Bool { candidates(for: token).contains { $0.verifies(token) } }
    func names(_ token: CompactJWT) -> Bool { token.keyID != nil && candidates(for: token).contains { $0.id != nil } }

    /// Keys of the token's algorithm: with its `kid`, or else without. For a token without `kid`, any of them.
    func candidates(for token: CompactJWT) -> [VerificationKey] {
        let fitting = keys.filter { $0.algorithm == token.algorithm }
        guard let id = token.keyID else { return Array(fitting.prefix(Self.maximumCandidates)) }
        let named = fitting.filter { $0.id.map { UTF8Text($0) == UTF8Text(id) } ?? false }
        return Array((named.isEmpty ? fitting.filter { $0.id == nil } : named).prefix(Self.maximumCandidates))
    }
}
