import HTTPTypes
import RegistryCore
import RegistryStore

struct Authenticator: Sendable {
    /// Requests without credentials act as root.
    let insecureNoAuth: Bool
    let apps: AppDirectory
    let keys: KeyDirectory
    let tokens: JWTVerifier
    /// Invalid credentials by network. Nil for no limit.
    let failures: RateLimiter?

    /// Identifies the caller. A JWT needs the settings of the path's app, `bundleID`.
    ///
    /// - Throws: `unauthenticated`, `unavailable`, `too-many-requests` after too many invalid credentials from the network.
    func principal(
        for fields: HTTPFields,
        of bundleID: String? = nil,
        from network: CallerNetwork? = nil
    ) async throws -> Principal {
        switch Result(catching: { () throws(Problem) in try Credentials(fields) }) {
        case .failure(let problem): return try await limitFailures(from: network) { throw problem }
        case .success(.none): return insecureNoAuth ? .insecure : .anonymous
        case .success(.key(let key)):
            let digest = key.secretDigest
            return Principal(try await validKey(key.id, from: network) { ConstantTime.areEqual($0.digest, digest) })
        case .success(.token(let text)): return try await user(of: text, for: bundleID, from: network)
        }
    }

    /// Above the limit, unknown credentials are rejected without a lookup.
    ///
    /// Credentials that were valid recently are never rejected here, so an attacker does not affect other callers in
    /// its network. Credentials count during their verification, so that concurrent requests do not bypass the limit.
    private func limitFailures<Proved>(
        from network: CallerNetwork?,
        isKnown: Bool = false,
        _ prove: () async throws -> Proved
    ) async throws -> Proved {
        guard let failures, let network, !isKnown else { return try await prove() }
        _ = try failures.admit(.network(network))
        do {
            let proved = try await prove()
            failures.giveBack(.network(network))
            return proved
        } catch {
            if (error as? Problem)?.code != .unauthenticated { failures.giveBack(.network(network)) }
            throw error
        }
    }

    private func validKey(
        _ id: APIKeyID,
        from network: CallerNetwork?,
        where accepts: (APIKeyRecord) -> Bool
    ) async throws -> APIKeyRecord {
        if let key = keys.knownKey(id, where: accepts) { return key }
        return try await limitFailures(from: network, isKnown: keys.wasValid(id, where: accepts)) {
            guard let key = try await keys.validKey(id, where: accepts) else { throw Problem.invalidCredentials }
            return key
        }
    }

    func findKey(
        _ id: APIKeyID,
        from network: CallerNetwork?,
        where accepts: (APIKeyRecord) -> Bool
    ) async throws -> APIKeyRecord? {
        do {
            return try await validKey(id, from: network, where: accepts)
        } catch let problem as Problem where problem.code == .unauthenticated { return nil }
    }

    private func user(of text: Secret, for name: String?, from network: CallerNetwork?) async throws -> Principal {
        guard let bundleID = name.flatMap({ try? BundleID($0) }) else {
            return try await limitFailures(from: network) {
                _ = try CompactJWT(text)
                throw Problem.invalidCredentials
            }
        }
        let name = VerifiedTokens.Name(text, of: bundleID)
        if let user = knownUser(of: name, bundleID) { return user }
        return try await limitFailures(from: network, isKnown: tokens.wasValid(name)) {
            let token = try CompactJWT(text)
            guard let app = try await apps.app(bundleID, isAuthenticated: false) else {
                tokens.keys.forgetFailure(of: bundleID)
                throw CompactJWT.unverified
            }
            return try await tokens.user(of: token, named: name, app)
        }
    }

    private func knownUser(of name: VerifiedTokens.Name, _ bundleID: BundleID) -> Principal? {
        apps.known(bundleID).flatMap { tokens.knownUser(of: name, $0) }
    }

    /// The caller, if the caches have its API key or JWT. `last` is the key of the connection's last request.
    func knownPrincipal(for fields: HTTPFields, of bundleID: String?, after last: inout RememberedKey?) -> Principal? {
        if let last, fields.value(.authorization).map({ Secret($0) }) == last.field { return knownPrincipal(of: last) }
        switch try? Credentials(fields) {
        case .some(.none): return insecureNoAuth ? .insecure : nil
        case .key(let key):
            let field = Secret(fields[.authorization] ?? "")
            let remembered = RememberedKey(id: key.id, digest: key.secretDigest, field: field)
            last = remembered
            return knownPrincipal(of: remembered)
        case .token(let text):
            guard let bundleID = bundleID.flatMap({ try? BundleID($0) }) else { return nil }
            return knownUser(of: VerifiedTokens.Name(text, of: bundleID), bundleID)
        case nil: return nil
        }
    }

    private func knownPrincipal(of key: RememberedKey) -> Principal? {
        keys.knownKey(key.id) { ConstantTime.areEqual($0.digest, key.digest) }.map { Principal($0) }
    }

    /// Without authentication, protects against DNS rebinding.
    func checkHost(of request: HTTPRequest) throws(Problem) {
        guard insecureNoAuth else { return }
        let isOnlyHost = !request.headerFields.contains { $0.name.canonicalName == "host" }
        guard let host = request.authority, isOnlyHost, LoopbackHost.matches(host) else {
            throw Problem(
                .misdirectedRequest,
                "Without authentication, Host must be a loopback name: localhost, 127.0.0.1 or [::1]."
            )
        }
    }

    /// Without authentication, protects against other sites' pages: browsers send some requests without permission.
    func checkOrigin(of request: HTTPRequest) throws(Problem) {
        guard insecureNoAuth, ![.get, .head].contains(request.method) else { return }
        let refusal =
            "A page of another site sent this. Without authentication, the service refuses changes from other sites."
        try RequestOrigin.check(request, believesNull: false, refusal)
    }
}

extension Principal {
    init(_ record: APIKeyRecord) { self.init(role: record.id.role, who: UTF8Text(record.id.rawValue), app: record.app) }
}

extension Problem {
    static var invalidCredentials: Problem { Problem(.unauthenticated, "The credentials are not valid.") }
}

extension HTTPField.Name { static let installationID = HTTPField.Name("X-Installation-Id")! }

enum Credentials: Sendable {
    case none
    case key(APIKey)
    /// Any other text. It can be a JWT.
    case token(Secret)

    /// Reads `Authorization: Bearer …`.
    ///
    /// - Throws: `unauthenticated` for another scheme, several fields, or malformed credentials.
    init(_ fields: HTTPFields) throws(Problem) {
        let values = fields[values: .authorization]
        guard let value = values.first else {
            self = .none
            return
        }
        guard values.count == 1, let text = Self.bearerText(value) else {
            throw Problem(.unauthenticated, "Send one field: Authorization: Bearer, and an API key or a JWT.")
        }
        guard APIKey.isMeant(by: text) else {
            self = .token(text)
            return
        }
        guard let key = APIKey(text) else {
            throw Problem(.unauthenticated, "The API key is mistyped or cut off: its checksum is wrong.")
        }
        self = .key(key)
    }

    private static func bearerText(_ value: String) -> Secret? {
        let halves = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].lowercased() == "bearer", value.utf8.count <= 8192 else {
            return nil
        }
        let text = halves[1].drop { $0 == " " }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return Secret(String(text))
    }
}

/// The parsed API key of a connection's last request. The next request usually has the same key and skips the parsing,
/// but not the check of validity.
struct RememberedKey: Sendable {
    let id: APIKeyID
    let digest: [UInt8]
    /// The complete field, because a proxy can send requests of several clients.
    let field: Secret
}
