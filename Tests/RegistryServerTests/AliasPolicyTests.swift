import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct AliasPolicyTests {
    private static let key = Principal(role: .client, who: "prc_1")
    private static let user = Principal(role: .client, who: "user:u-1", subject: "u-1")
    private static let backends = [Role.sender, .admin, .root].map { Principal(role: $0, who: "k") }

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
            do {
                try AliasPolicy(app).check([.sample("liveactivityId", "x"), .sample(kind, value)], by: principal)
                return true
            } catch { return false }
        }
        #expect(allows(Self.key) == keyMay)
        #expect(allows(Self.user) == userMay)
        for backend in Self.backends { #expect(allows(backend)) }
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
