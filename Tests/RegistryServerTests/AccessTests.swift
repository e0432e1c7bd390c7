import HTTPTypes
import RegistryCore
import RegistryStore
import Testing

@testable import RegistryServer

@Suite struct AccessTests {
    @Test func `A refusal of a role names the permitted roles`() {
        let wrong = #expect(throws: Problem.self) {
            try Access.senderCalls.check(Principal(role: .client, who: "prc_1"))
        }
        #expect(wrong?.code == .forbidden && wrong?.detail.contains("sender, admin, root") == true)
    }

    @Test(arguments: ["Bearer prr_x_y", "Basic dTpw", "Bearer", "", "Bearer  ", "Bearer a.b.c", "Bearer prc_é"])
    func `Credentials are checked even without authentication`(_ credentials: String) async {
        for insecure in [true, false] {
            let problem = await #expect(throws: Problem.self) {
                try await Self.authenticator(insecure).principal(for: [.authorization: credentials])
            }
            #expect(problem?.code == .unauthenticated)
        }
    }

    @Test func `A request without credentials is anonymous, or insecure without authentication`() async throws {
        #expect(try await Self.authenticator(false).principal(for: [:]) == .anonymous)
        #expect(try await Self.authenticator(true).principal(for: [:]) == .insecure)
    }

    /// An authenticator without a reachable Postgres, because these refusals need none.
    private static func authenticator(_ insecureNoAuth: Bool) -> Authenticator {
        let configuration = ServerConfiguration(insecureNoAuth: insecureNoAuth)
        let registry = Registry.away(within: .milliseconds(500))
        return RegistryResponder(registry: registry, configuration: configuration, logger: .silent).parts.authenticator
    }

    @Test(
        arguments: [
            "localhost", "LocalHost", "localhost:8080", "127.0.0.1", "127.0.0.1:1", "127.255.1.2", "[::1]",
            "[::1]:65535", "localhost:",
        ].map { ($0, true) }
            + [
                "", "example.com", "localhost.example.com", "localhost.", "127.0.0.1.example.com", "128.0.0.1",
                "127.0.0", "127.0.0.256", "127.0.0.1.1", "127.0.0.x", "127..0.1", "::1", "[::2]", "[::1", "[::1]x",
                "[::1]:x", "localhost:65536", "localhost:80:80", "user@localhost", "0.0.0.0", "localhost:-1",
                "localhost:8a", "2130706433",
            ].map { ($0, false) }
    )
    func `A host is this machine or not`(_ host: String, _ isThisMachine: Bool) {
        #expect(LoopbackHost.matches(host) == isThisMachine)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("localhost", true), ("0.0.0.0", false), ("::", false),
        ("10.0.0.1", false),
    ])
    func `The address decides whether the server listens on loopback only`(_ host: String, _ isLoopback: Bool) {
        #expect(ServerConfiguration(host: host).listensOnLoopback == isLoopback)
    }
}
