import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
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

@Suite(.timeLimit(.minutes(15))) struct AliasPolicyTests {
    /// The kind and value of an alias, whether a publishable key may set it, and whether the user u-1 may set it.
    @Test(arguments: [
        ("liveactivityId", "order-42", true, true), ("userId", "u-1", false, true), ("userId", "u-2", false, false),
        ("userId", "U-1", false, false), ("orderId", "o", false, true), ("free", "x", true, true),
        ("signed", "x", false, true), ("mine", "u-1", false, true), ("mine", "u-10", false, false),
        ("ours", "u-1", false, false),
    ])
    func `Rules limit who may set an alias`(_ kind: String, _ value: String, _ keyMay: Bool, _ userMay: Bool) throws {
        let rules: [UTF8Text: AliasRule] = ["free": .any, "signed": .signedIn, "mine": .subject, "ours": .backend]
        let app = App.sample(aliasRules: rules)
        func allows(_ principal: Principal) -> Bool {
            (try? AliasPolicy(app).check([.sample("liveactivityId", "x"), .sample(kind, value)], by: principal)) != nil
        }
        #expect(allows(Principal(role: .client, who: "prc_1")) == keyMay)
        #expect(allows(Principal(role: .client, who: "user:u-1", subject: "u-1")) == userMay)
        for backend in [Role.sender, .admin, .root] { #expect(allows(Principal(role: backend, who: "k"))) }
    }

    /// Composed and decomposed "é" are equal in Swift, but different users.
    @Test func `Subjects are compared byte by byte`() throws {
        let app = App.sample()
        let user = Principal(role: .client, who: "user:\u{E9}", subject: "\u{E9}")
        #expect(throws: Never.self) { try AliasPolicy(app).check([.sample("userId", "\u{E9}")], by: user) }
        #expect(throws: Problem.self) { try AliasPolicy(app).check([.sample("userId", "e\u{301}")], by: user) }
    }

    @Test(.secureService) func `An app's own alias rules replace the defaults`() async throws {
        let (client, admin) = (try await server.key(.client), try await server.key(.admin))
        let phone = client.fields.on("phone")
        let rules: JSONValue = ["aliasRules": ["liveactivityId": "backend", "tableId": "any"]]
        #expect(try await server.call(.put, "/v1/apps/com.example.food", rules, admin.fields).status == 200)
        let post: JSONValue = ["token": .token(2), "alias": "match"]
        #expect(try await server.call(.post, "…/activities", post, phone).problem == "alias-not-allowed")
        let put: JSONValue = ["token": .token(1), "aliases": ["tableId": "7"]]
        #expect(try await server.call(.put, "…/activities/a", put, phone).status == 201)
    }
}

@Suite struct NetworkTests {
    @Test(
        arguments: [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.0.0.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
            "::", "::1", "fe80::1", "fc00::1", "fdff::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
            "::127.0.0.1", "64:ff9b::10.0.0.1", "2002:7f00:1::", "2002:a00:1::1", "2001:db8::1", "fec0::1",
            "203.0.113.9",
        ].map { ($0, false) }
            + [
                "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.169.0.1", "198.20.0.0",
                "223.255.255.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
                "2002:808:808::1", "fb00::1",
            ].map { ($0, true) }
    )
    func `Addresses of special use are not public, and all others are`(_ text: String, _ isPublic: Bool) throws {
        #expect(try #require(IPAddress(text)).isPublic == isPublic)
    }

    @Test(arguments: [
        "", "localhost", "1.2.3", "1.2.3.4.5", "0x7f.0.0.1", "2130706433", "1.2.3.256", "[::1]", "fe80::1%1",
        " 1.2.3.4",
    ])
    func `A malformed address is rejected`(_ text: String) { #expect(IPAddress(text) == nil) }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/9", "10.128.0.0", false),
        ("1.2.3.4", "1.2.3.4", true), ("1.2.3.4", "1.2.3.5", false), ("0.0.0.0/0", "9.9.9.9", true),
        ("::/0", "9.9.9.9", false), ("fd00::/8", "fd12::1", true), ("fd00::/8", "fe00::1", false),
        ("10.0.0.0/8", "::ffff:10.1.1.1", true),
    ])
    func `A range contains its addresses and no others`(_ range: String, _ address: String, _ isIn: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(#require(IPAddress(address))) == isIn)
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "x/8", "::1/129", "10.0.0.0/8/8", "10.0.0.0/+8"])
    func `A malformed range is rejected`(_ text: String) { #expect(AddressRange(text) == nil) }

    @Test(arguments: [
        "http://login.example.com/k", "https://LOCALHOST./k", "https://a.LOCALHOST/k", "https://[::1]/k",
        "https://10.0.0.1:8443/k", "https://169.254.169.254/latest", "https://[::ffff:10.0.0.1]/k",
        "https://Metadata/k", "https://user:pw@login.example.com/k", "ftp://x.example/k", "file:///etc/passwd",
        "https:///k", "//x.example/k", "", "https://[fd00::1]/",
    ])
    func `An internal URL is refused as a source of keys`(_ text: String) {
        #expect(throws: JSONFaultReason.self) { try KeySetURL(text, allowsInternal: false) }
    }

    @Test(arguments: [
        ("https://login.example.com/keys?x=1", false), ("https://8.8.8.8:444/k", false),
        ("http://127.0.0.1:99/k", true), ("https://keycloak/realms/food", true),
    ])
    func `A public URL is accepted as a source of keys`(_ text: String, _ onlyInside: Bool) throws {
        #expect(try KeySetURL(text, allowsInternal: true).text == text)
        #expect(((try? KeySetURL(text, allowsInternal: false)) == nil) == onlyInside)
    }

    @Test func `A host of keys is resolved as written`() throws {
        #expect(try KeySetURL("https://Keys.Example.com/jwks", allowsInternal: false).host == "Keys.Example.com")
    }

    @Test func `Names of internal addresses are detected`() async throws {
        #expect(try await NameLookup.address(of: "localhost", within: .seconds(5)).isLoopback)
        #expect(try await !NameLookup.address(of: "2130706433", within: .seconds(5)).isPublic)
        await #expect(throws: JSONFaultReason.self) {
            try await KeySetFetcher(allowsInternal: false).fetch("https://127.1.0x1/keys")
        }
    }
}
