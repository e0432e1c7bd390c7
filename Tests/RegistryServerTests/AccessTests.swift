import HTTPTypes
import PostgresDriver
import RegistryCore
import RegistryStore
import Testing

@testable import RegistryServer

@Suite struct AccessTests {
    @Test func `A refusal of a role names the reason`() {
        let missing = #expect(throws: Problem.self) { try Access.clientCalls.check(.anonymous) }
        #expect(missing?.code == .unauthenticated)
        let wrong = #expect(throws: Problem.self) {
            try Access.senderCalls.check(Principal(role: .client, who: "prc_1"))
        }
        #expect(wrong?.code == .forbidden)
        #expect(wrong?.detail.contains("sender, admin, root") == true)
        #expect(throws: Never.self) { try Access.everyone.check(.anonymous) }
    }

    @Test(arguments: ["Bearer prr_x_y", "Basic dTpw", "Bearer", "", "Bearer  ", "Bearer a.b.c", "Bearer prc_é"])
    func `Credentials are checked even without authentication`(_ credentials: String) async {
        for insecure in [true, false] {
            let problem = await #expect(throws: Problem.self) {
                try await Authenticator.inTheDark(insecure).principal(for: [.authorization: credentials])
            }
            #expect(problem?.code == .unauthenticated)
        }
    }

    @Test func `Two credentials are refused`() async {
        var fields: HTTPFields = [:]
        fields[values: .authorization] = ["Bearer x", "Bearer y"]
        let problem = await #expect(throws: Problem.self) {
            try await Authenticator.inTheDark(true).principal(for: fields)
        }
        #expect(problem?.code == .unauthenticated)
    }

    @Test func `A request without credentials is refused`() async throws {
        #expect(try await Authenticator.inTheDark(false).principal(for: [:]) == .anonymous)
        #expect(try await Authenticator.inTheDark(true).principal(for: [:]) == .insecure)
    }
}

extension Authenticator {
    /// An authenticator without a reachable Postgres, because these refusals need none.
    static func inTheDark(_ insecureNoAuth: Bool) -> Authenticator {
        let pool = PostgresPool(databaseURL: "host=127.0.0.1 port=1 user=nobody dbname=nothing", logger: .silent)
        let configuration = ServerConfiguration(insecureNoAuth: insecureNoAuth)
        let registry = Registry(pool: pool, logger: .silent)
        return RegistryResponder(registry: registry, configuration: configuration, logger: .silent).parts.authenticator
    }
}

@Suite struct LoopbackHostTests {
    @Test(arguments: [
        "localhost", "LocalHost", "localhost:8080", "127.0.0.1", "127.0.0.1:1", "127.255.1.2", "[::1]", "[::1]:65535",
        "localhost:",
    ])
    func `A loopback name or address is this machine`(_ host: String) { #expect(LoopbackHost.matches(host)) }

    @Test(arguments: [
        "", "example.com", "localhost.example.com", "localhost.", "127.0.0.1.example.com", "128.0.0.1", "127.0.0",
        "127.0.0.256", "127.0.0.1.1", "127.0.0.x", "127..0.1", "::1", "[::2]", "[::1", "[::1]x", "[::1]:x",
        "localhost:65536", "localhost:80:80", "user@localhost", "0.0.0.0", "localhost:-1", "localhost:8a",
        "2130706433",
    ])
    func `Other names and addresses are not this machine`(_ host: String) { #expect(!LoopbackHost.matches(host)) }

    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("localhost", true), ("0.0.0.0", false), ("::", false),
        ("10.0.0.1", false),
    ])
    func `The address decides whether the server listens on loopback only`(_ host: String, _ isLoopback: Bool) {
        #expect(ServerConfiguration(host: host).listensOnLoopback == isLoopback)
    }

    @Test func `A request that names two hosts is refused`() throws {
        let authenticator = Authenticator.inTheDark(true)
        var request = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/livez")
        #expect(throws: Never.self) { try authenticator.checkHost(of: request) }
        request.authority = nil
        #expect(throws: Problem.self) { try authenticator.checkHost(of: request) }
        request.authority = "evil.example"
        #expect(throws: Problem.self) { try authenticator.checkHost(of: request) }
        #expect(throws: Never.self) { try Authenticator.inTheDark(false).checkHost(of: request) }
    }
}
