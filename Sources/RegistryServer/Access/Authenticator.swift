import HTTPTypes
import RegistryCore

/// Finds out who makes a request.
struct Authenticator: Sendable {
    /// Requests without credentials act as root.
    let insecureNoAuth: Bool
    let apps: AppDirectory
    let keys: KeyDirectory
    let tokens: JWTVerifier

    /// Finds out who bears the credentials of a request.
    ///
    /// - Parameter bundleID: the app of the path, whose settings decide about a JWT; nil where a path names none.
    /// - Throws: `unauthenticated` when credentials are given that are not valid; none at all is `Principal.anonymous`.
    ///   `unavailable`, and `too-many-requests` when unknown names and keys are being tried.
    func principal(for fields: HTTPFields, of bundleID: String? = nil) async throws -> Principal {
        switch try Credentials(fields) {
        case .none: return insecureNoAuth ? .insecure : .anonymous
        case .key(let key):
            guard let record = try await keys.validRecord(of: key) else { throw Problem.invalidCredentials }
            return Principal(record)
        case .token(let text):
            let token = try CompactJWT(text)
            guard let bundleID = bundleID.flatMap({ try? BundleID($0) }),
                let app = try await apps.app(bundleID, isAuthenticated: false)
            else { throw Problem.invalidCredentials }
            return try await tokens.principal(for: token, of: app)
        }
    }

    /// Who makes a request, if that is known without asking anybody: the bearer of an API key that was used lately.
    ///
    /// - Parameter last: the key that the connection's last request bore; becomes this one's.
    func knownPrincipal(for fields: HTTPFields, after last: inout RememberedKey?) -> Principal? {
        if let last, last.isBorne(by: fields) { return keys.knownRecord(of: last).map(Principal.init) }
        switch try? Credentials(fields) {
        case .some(.none): return insecureNoAuth ? .insecure : nil
        case .key(let key):
            let remembered = RememberedKey(key, of: fields)
            last = remembered
            return keys.knownRecord(of: remembered).map(Principal.init)
        case .token, nil: return nil
        }
    }

    /// Refuses what a browser was tricked into sending (DNS rebinding) where no credentials protect the service.
    ///
    /// - Throws: `misdirected-request`.
    func checkHost(of request: HTTPRequest) throws(Problem) {
        guard insecureNoAuth else { return }
        let isOnlyHost = !request.headerFields.contains { $0.name.canonicalName == "host" }
        guard let host = request.authority, isOnlyHost, LoopbackHost.matches(host) else {
            throw Problem(
                .misdirectedRequest,
                "Without authentication only a loopback Host is answered: localhost, 127.0.0.1 or [::1]."
            )
        }
    }
}

extension Principal {
    /// The bearer of an API key.
    init(_ record: APIKeyRecord) {
        self.init(role: record.id.role, who: record.id.rawValue, app: record.app)
    }
}

extension Problem {
    /// Told of credentials that are whole and not valid; why is nobody's business.
    static var invalidCredentials: Problem { Problem(.unauthenticated, "The credentials are not valid.") }
}

extension HTTPField.Name {
    /// The installation that a client calls for.
    static let installationID = HTTPField.Name("X-Installation-Id")!
}
