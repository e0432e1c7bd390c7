import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct AccessTests {
    /// Who may do what, spelled out: a slip in the table of accesses must not go unseen.
    @Test(arguments: [
        (Access.clientCalls, [Role.client, .sender, .admin, .root]),
        (.senderCalls, [.sender, .admin, .root]),
        (.appReads, [.auditor, .admin, .root]),
        (.appChanges, [.admin, .root]),
        (.rootCalls, [.root]),
        (.operatorReads, [.auditor, .admin, .root]),
        (.everyone, Role.allCases),
    ])
    func letsInThoseAndNobodyElse(_ access: Access, _ allowed: [Role]) {
        for role in Role.allCases {
            let principal = Principal(role: role, who: "test")
            if allowed.contains(role) {
                #expect(throws: Never.self) { try access.check(principal) }
            } else {
                #expect(throws: Problem.self) { try access.check(principal) }
            }
        }
    }

    @Test func refusalsNameTheReason() {
        let missing = #expect(throws: Problem.self) { try Access.clientCalls.check(.anonymous) }
        #expect(missing?.code == .unauthenticated)
        let wrong = #expect(throws: Problem.self) {
            try Access.senderCalls.check(Principal(role: .client, who: "prc_1"))
        }
        #expect(wrong?.code == .forbidden)
        #expect(wrong?.detail.contains("sender, admin, root") == true)
        #expect(throws: Never.self) { try Access.everyone.check(.anonymous) }
    }

    /// R: a client never reads tokens.
    @Test func noRouteThatReadsIsForClients() {
        for route in Route.all where route.method == .get && route.access != .everyone {
            #expect(route.access.roles?.contains(.client) == false, "\(route.template)")
        }
    }

    @Test(arguments: ["Bearer prr_x_y", "Basic dTpw", "Bearer", ""])
    func credentialsAreCheckedEvenWithoutAuthentication(_ credentials: String) {
        for insecure in [true, false] {
            let problem = #expect(throws: Problem.self) {
                try Authenticator(insecureNoAuth: insecure).principal(for: [.authorization: credentials])
            }
            #expect(problem?.code == .unauthenticated)
        }
    }

    @Test func withoutCredentials() throws {
        #expect(try Authenticator(insecureNoAuth: false).principal(for: [:]) == .anonymous)
        #expect(try Authenticator(insecureNoAuth: true).principal(for: [:]) == .insecure)
    }
}

@Suite struct LoopbackHostTests {
    @Test(arguments: [
        "localhost", "LocalHost", "localhost:8080", "127.0.0.1", "127.0.0.1:1", "127.255.1.2", "[::1]", "[::1]:65535",
        "localhost:",
    ])
    func isThisMachine(_ host: String) { #expect(LoopbackHost.matches(host)) }

    @Test(arguments: [
        "", "example.com", "localhost.example.com", "localhost.", "127.0.0.1.example.com", "128.0.0.1", "127.0.0",
        "127.0.0.256", "127.0.0.1.1", "127.0.0.x", "127..0.1", "::1", "[::2]", "[::1", "[::1]x", "[::1]:x",
        "localhost:65536", "localhost:80:80", "user@localhost", "0.0.0.0", "localhost:-1", "localhost:8a", "2130706433",
    ])
    func isNot(_ host: String) { #expect(!LoopbackHost.matches(host)) }

    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("localhost", true), ("0.0.0.0", false), ("::", false), ("10.0.0.1", false),
    ])
    func tellsWhetherTheServerListensThere(_ host: String, _ isLoopback: Bool) {
        #expect(ServerConfiguration(host: host).listensOnLoopback == isLoopback)
    }

    @Test func aSecondHostIsNoGood() throws {
        let authenticator = Authenticator(insecureNoAuth: true)
        var request = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/livez")
        #expect(throws: Never.self) { try authenticator.checkHost(of: request) }
        request.authority = nil
        #expect(throws: Problem.self) { try authenticator.checkHost(of: request) }
        request.authority = "evil.example"
        #expect(throws: Problem.self) { try authenticator.checkHost(of: request) }
        #expect(throws: Never.self) { try Authenticator(insecureNoAuth: false).checkHost(of: request) }
    }
}
