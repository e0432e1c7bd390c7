import HTTPTypes
import RegistryCore

/// Finds out who makes a request.
struct Authenticator: Sendable {
    /// Requests without credentials act as root.
    let insecureNoAuth: Bool
    let keys: KeyDirectory

    /// - Throws: `unauthenticated` when credentials are given that are not valid; none at all is `Principal.anonymous`.
    func principal(for fields: HTTPFields) async throws -> Principal {
        switch try Credentials(fields) {
        case .none: return insecureNoAuth ? .insecure : .anonymous
        case .key(let key):
            guard let record = try await keys.validRecord(of: key) else { throw Problem.invalidCredentials }
            return Principal(record)
        case .token: throw Problem.invalidCredentials
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
    fileprivate init(_ record: APIKeyRecord) {
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
