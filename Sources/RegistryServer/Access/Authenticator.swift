import HTTPTypes
import RegistryCore

/// Finds out who makes a request.
struct Authenticator: Sendable {
    /// Requests without credentials act as root.
    let insecureNoAuth: Bool

    /// - Throws: `unauthenticated` when credentials are given that are not valid; none at all is `Principal.anonymous`.
    func principal(for fields: HTTPFields) throws(Problem) -> Principal {
        guard fields[.authorization] == nil else {
            throw Problem(.unauthenticated, "The credentials are not valid.")
        }
        return insecureNoAuth ? .insecure : .anonymous
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

extension HTTPField.Name {
    /// The installation that a client calls for.
    static let installationID = HTTPField.Name("X-Installation-Id")!
}
