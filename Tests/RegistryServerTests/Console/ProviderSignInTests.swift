import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// Sign-in to the console with an identity provider, and each refusal of a sign-in.
@Suite(.provider, .timeLimit(.minutes(3))) struct ProviderSignInTests {
    private static let session = "pushreg-console"
    private static let attempt = "pushreg-provider"

    private static let rules = """
        admin:com.example.food=push-admins; auditor:com.example.food=everyone; auditor:com.example.taxi=CN=Taxi; \
        admin:com.example.food=jane@example.com
        """

    static func settings(_ issuer: String, claim: String = "groups", rules: String = rules) throws -> SignInSettings {
        try SignInSettings(
            issuer: issuer,
            clientID: TestProvider.clientID,
            clientSecret: Secret(TestProvider.clientSecret),
            claim: claim,
            rules: rules,
            publicURL: "http://localhost:8080"
        )
    }

    @Test func `A person signs in, acts under their name, and signs out`() async throws {
        let (log, settings) = (RecordedLog(), try Self.settings(provider.issuer))
        try await ServiceTrait.secureService { $0.signIn = settings }.run(logger: log.logger) { server in
            let browser = ConsoleBrowser()
            #expect(try await browser.get("/console/sign-in").words.contains("Sign in with 127.0.0.1"))
            let next = "/console/com.example.food/sandbox/stale?kind=update"
            let begun = try await browser.beginSignIn(next: next)
            let set = try #require(begun.fields[values: .setCookie].first { $0.hasPrefix(Self.attempt) })
            #expect(set.contains("; HttpOnly; SameSite=Lax") && set.contains("Max-Age=600"))
            let query = TestProvider.fields(String(begun.onward.split(separator: "?")[1]))
            #expect(query["redirect_uri"] == "http://localhost:8080/console/sign-in/callback")
            #expect(query["scope"] == "openid email groups" && query["code_challenge_method"] == "S256")
            let done = try await browser.get(try await provider.answer(to: begun.onward))
            #expect(done.status == 200 && done.onward == next, "\(done.words)")
            #expect(browser.cookies[Self.attempt] == nil)
            let session = try #require(done.fields[values: .setCookie].first { $0.hasPrefix(Self.session) })
            #expect(session.contains("; HttpOnly; SameSite=Strict") && session.contains("Max-Age=1800"))
            let token = try #require(provider.received.first { $0.hasPrefix("POST /token") })
            let verifier = TestProvider.fields(String(token.split(separator: " ")[2]))["code_verifier"]
            #expect(TestProvider.challenge(verifier ?? "") == query["code_challenge"])

            let page = try await browser.get(next)
            #expect(page.status == 200 && page.words.contains("Signed in as admin console:jane@example.com 2481"))
            let key = try await server.key(.auditor).id.rawValue
            let form = ["form": page.formToken, "confirmation": key]
            #expect(try await browser.post("…/keys/\(key)/revoke", form).status == 303)
            let trail = try await browser.get("…/search?q=event:key-revoked")
            #expect(trail.words.contains("console:jane@example.com 2481"))
            #expect(try await browser.post("/console/sign-out", ["form": page.formToken]).status == 303)
            #expect(browser.cookies[Self.session] == nil)
            #expect(try await browser.get("…").status == 303)
            let secret = TestProvider.clientSecret
            #expect(!log.text.contains(secret) && !provider.received.joined().contains(secret))
        }
    }

    @Test func `Sign-in with a key works with and without a provider`() async throws {
        #expect(try await ConsoleBrowser.signedIn(as: .auditor).get("…").status == 200)
        try await ServiceTrait.secureService.run(on: server.registry) { _ in
            let browser = ConsoleBrowser()
            let page = try await browser.get("/console/sign-in")
            #expect(!page.words.contains("Sign in with"))
            #expect(try await browser.beginSignIn().status == 404)
            #expect(try await browser.get(ConsoleLink.callback + "?code=a&state=b").status == 404)
        }
    }

    /// Signs in with other claims, and expects the words on a page of the console or in the refusal.
    private static func expect(_ cases: [(claims: JSONObject, status: Int, words: String)]) async throws {
        for (claims, status, words) in cases {
            provider.change { behaviour in
                behaviour.claims = ["groups": "everyone"]
                for member in claims { behaviour.claims[member.key] = member.value }
            }
            let browser = ConsoleBrowser()
            let reply = try await browser.signIn()
            #expect(reply.status == status, "\(claims): \(reply.words)")
            #expect((browser.cookies[session] != nil) == (status == 200) && browser.cookies[attempt] == nil)
            let page = status == 200 ? try await browser.get("…") : reply
            #expect(page.words.contains(words), "\(claims): \(page.words)")
        }
    }

    @Test func `The claims of an ID token decide the role, the name or the refusal`() async throws {
        let (none, nonce) = ("You have no role here: --oidc-roles", "Its nonce is not from this sign-in")
        try await Self.expect([
            (["groups": "push-admins"], 200, "Signed in as admin console:jane@example.com 2481"),
            (["groups": ["a", "everyone"]], 200, "Signed in as auditor console:"),
            // The role admin wins, regardless of the order of the rules.
            (["groups": ["everyone", "push-admins"]], 200, "Signed in as admin console:"),
            (["groups": ["Push-Admins"]], 403, none), (["groups": []], 403, none),
            (["groups": ["push-admins", 1]], 403, none), (["groups": ["push-admins": true]], 403, none),
            (["groups": "push-admins everyone"], 403, none), (["groups": .null], 403, "has no claim groups. Add it"),
            // An unverified address or a name of several words is omitted.
            (["preferred_username": "j.d", "email_verified": false], 200, "Signed in as auditor console:j.d 2481"),
            (["preferred_username": "bob 17", "email_verified": false], 200, "Signed in as auditor console:2481"),
            (["email": "eve@x 1"], 200, "Signed in as auditor console:2481"),
            // Tokens for another purpose.
            (["nonce": "x"], 401, nonce), (["nonce": .null], 401, nonce), (["aud": "another"], 401, "Its aud is not"),
            (["aud": ["another"]], 401, "Its aud is not"), (["aud": .null], 401, "It has no aud"),
            (["aud": ["pushreg console", "another"]], 401, "Its azp is not the client id"),
            (["aud": ["pushreg console", "another"], "azp": "pushreg console"], 200, "Signed in as auditor"),
            (["azp": "another"], 401, "Its azp is not"), (["iss": "https://evil.example"], 401, "Its iss is not"),
            (["iss": .null], 401, "Its iss is not"), (["exp": 1_000_000_000], 401, "Its exp is in the past"),
            (["exp": .null], 401, "Its exp must be a number"),
            (["nbf": 9_000_000_000], 401, "Its nbf is in the future"),
            (["sub": .null], 401, "It has no sub."),
        ])
    }

    @Test(.provider(claim: "email")) func `An email address is used only if the provider has verified it`() async throws
    {
        let refused: [JSONValue] = [.null, false, "false", 1]
        try await Self.expect(refused.map { (["email_verified": $0], 403, "is verified") })
        let verified: [JSONValue] = [true, "true"]
        try await Self.expect(verified.map { (["email_verified": $0], 200, "Signed in as admin") })
    }

    @Test func `A person has the role of each of their apps`() async throws {
        provider.change { $0.claims = ["groups": ["CN=Taxi", "push-admins"]] }
        let browser = ConsoleBrowser()
        _ = try await browser.signIn()
        let apps = try await browser.get("/console")
        for (app, role, status) in [("com.example.food", "as admin", 422), ("com.example.taxi", "as auditor", 403)] {
            #expect(apps.status == 200 && apps.words.contains(app))
            let keys = try await browser.get("/console/\(app)/sandbox/keys")
            #expect(keys.words.contains(role))
            let purge = try await browser.post("/console/\(app)/sandbox/stale/purge", ["form": keys.formToken])
            #expect(purge.status == status)
        }
    }

    @Test func `A provider's response is valid once, soon, and in the browser that began`() async throws {
        func refusal(_ browser: ConsoleBrowser, _ path: String) async throws -> String {
            let reply = try await browser.get(path)
            #expect(browser.cookies[Self.session] == nil && reply.status >= 400, "\(path)")
            return reply.words
        }
        let words = "did not begin in this browser, or took over ten minutes. Open http://localhost:8080/console"
        let browser = ConsoleBrowser()
        let callback = try await provider.answer(to: browser.beginSignIn().onward)
        let kept = browser.cookies[Self.attempt]
        #expect(try await refusal(ConsoleBrowser(), callback).contains(words))
        let other = ConsoleBrowser()
        _ = try await other.beginSignIn()
        #expect(try await refusal(other, callback).contains(words))
        let wrong = callback.replacing(/state=[^&]+/, with: "state=\(String(repeating: "A", count: 43))")
        for path in [wrong, callback.replacing(/state=[^&]+&/, with: ""), callback + "&state=x"] {
            browser.setCookie(Self.attempt, kept)
            #expect(try await refusal(browser, path).contains(words))
            #expect(browser.cookies[Self.attempt] == nil)
        }
        #expect(!provider.received.contains { $0.hasPrefix("POST /token") })
        clock.advance(by: .seconds(600))
        browser.setCookie(Self.attempt, kept)
        #expect(try await refusal(browser, callback).contains(words))

        // The provider's clock is ten minutes behind.
        provider.change { $0.claims["exp"] = .integer(Int64(clock.now.timeIntervalSince1970) + 60) }
        let again = try await provider.answer(to: browser.beginSignIn().onward)
        let thief = ConsoleBrowser()
        thief.setCookie(Self.attempt, browser.cookies[Self.attempt])
        #expect(try await browser.get(again).status == 200)
        browser.setCookie(Self.session, nil)
        #expect(try await refusal(browser, again).contains(words))
        // Even with the cookie, the code cannot be used again.
        #expect(try await refusal(thief, again).contains("(invalid_grant)"))
    }

    @Test func `Only the console's own form begins a sign-in`() async throws {
        let browser = ConsoleBrowser()
        let form = try await browser.get("/console/sign-in").formToken
        #expect(try await browser.post(ConsoleLink.provider, ["form": form + "0"]).status == 403)
        #expect(try await ConsoleBrowser().post(ConsoleLink.provider, ["form": form]).status == 403)
        browser.fetchSite = "cross-site"
        #expect(try await browser.post(ConsoleLink.provider, ["form": form]).status == 403)
        #expect(try await browser.get(ConsoleLink.provider).status == 405)
        #expect(provider.received.isEmpty && browser.cookies[Self.attempt] == nil)
    }

    @Test func `A token signed by another key and a response of another issuer are refused`() async throws {
        func expect(_ status: Int, _ words: String, issuer: String? = nil) async throws {
            let browser = ConsoleBrowser()
            let callback = try await provider.answer(to: browser.beginSignIn().onward)
            let reply = try await browser.get(issuer.map { callback.replacing(/&iss=[^&]+/, with: $0) } ?? callback)
            #expect(reply.status == status && reply.words.contains(words), "\(reply.words)")
        }
        provider.change { $0.signsWithAnotherKey = true }
        try await expect(401, "ID token is refused. The JWT is not valid. It is not signed by a key")
        provider.change { $0.signsWithAnotherKey = false }
        for issuer in ["&iss=https%3A%2F%2Fevil.example", ""] {
            try await expect(403, "is not from 127.0.0.1", issuer: issuer)
        }
        provider.change { $0.error = "access_denied" }
        try await expect(403, "did not sign you in (access_denied)")
        provider.change { $0.error = "%3Cscript%3E" }
        try await expect(403, "did not sign you in. Sign in")
    }

    /// An attacker gets a person's code, or requests a code without a challenge, and uses it in their own sign-in.
    @Test(arguments: [false, true]) func `A code of another sign-in is refused`(_ isLax: Bool) async throws {
        provider.change { $0.neglectsPKCE = isLax }
        let (victim, attacker) = (ConsoleBrowser(), ConsoleBrowser())
        let challenge = isLax ? /&code_challenge\w*=[^&]+/ : /^$/
        let address = try await victim.beginSignIn().onward.replacing(challenge, with: "")
        let code = try await provider.answer(to: address).firstMatch(of: /code=([^&]+)/)?.1
        let own = try await provider.answer(to: attacker.beginSignIn().onward)
        let words = try await attacker.get(own.replacing(/code=[^&]+/, with: "code=\(code ?? "")")).words
        #expect(words.contains(isLax ? "Its nonce is not from this sign-in" : "(invalid_grant)"), "\(words)")
        #expect(attacker.cookies[Self.session] == nil)
    }

    /// The path in the cookie is the console's own, or sealed by it.
    @Test func `A sign-in redirects only to the console, and an attempt's cookie cannot be changed`() async throws {
        let next = "https://evil.example/console"
        #expect(try await ConsoleBrowser().signIn(next: next).onward == ConsoleLink.home)
        for (place, text) in [
            (0, "0"), (1, "4294967295"), (1, "x"), (2, ""), (2, "!"), (2, Base64URL.encode(Array(next.utf8))), (3, "x"),
        ] {
            let browser = ConsoleBrowser()
            let callback = try await provider.answer(to: browser.beginSignIn().onward)
            let parts = (browser.cookies[Self.attempt] ?? "").split(separator: ".").map(String.init)
            let changed = parts.prefix(place) + [text] + parts.dropFirst(place + 1)
            browser.setCookie(Self.attempt, changed.joined(separator: "."))
            let reply = try await browser.get(callback)
            #expect(reply.status == 403 && browser.cookies[Self.session] == nil, "\(place) \(text)")
        }
    }

    @Test func `A forged session cookie is refused`() async throws {
        provider.change { $0.claims = ["groups": "everyone"] }
        let browser = ConsoleBrowser()
        _ = try await browser.signIn()
        let cookie = try #require(browser.cookies[Self.session])
        let parts = cookie.split(separator: ".").map(String.init)
        let holder = String(parts[1].prefix { $0 != ":" })
        var forged = [
            (1, holder + ":0"), (1, holder + ":1:2"), (1, holder), (1, holder + ":999"), (1, ":1"),
            (1, Base64URL.encode(Array("console:eve".utf8)) + ":1"), (2, "1"), (3, "4294967295"), (4, "0"), (5, "0"),
        ].map { place, text in (parts.prefix(place) + [text] + parts.dropFirst(place + 1)).joined(separator: ".") }
        // With other settings, the same position in the rules means another role.
        for others in [
            try Self.settings(provider.issuer, rules: "admin:com.example.food=everyone"),
            try Self.settings(provider.issuer, claim: "roles"), try Self.settings("https://a.example"),
        ] { forged.append(ConsoleSession(of: holder + ":0", at: Date()).sealed(by: others.sealingKey)) }
        for text in forged {
            browser.setCookie(Self.session, text)
            #expect(try await browser.get("…").status == 303, "\(text)")
        }
        browser.setCookie(Self.session, cookie)
        #expect(try await browser.get("…").status == 200)
    }

    /// A change of the settings ends sessions and attempts.
    @Test(arguments: [true, false])
    func `Another instance with equal settings completes a sign-in and accepts its session`(_ areEqual: Bool)
        async throws
    {
        let rules = areEqual ? Self.rules : "admin:com.example.food=push-admins"
        let (first, settings) = (ConsoleBrowser(), try Self.settings(provider.issuer, rules: rules))
        let callback = try await provider.answer(to: first.beginSignIn().onward)
        try await ServiceTrait.secureService { $0.signIn = settings }.run(on: server.registry) { _ in
            let second = ConsoleBrowser()
            second.setCookie(Self.attempt, first.cookies[Self.attempt])
            let reply = try await second.get(callback)
            #expect(reply.status == (areEqual ? 200 : 403))
            if areEqual {
                first.setCookie(Self.session, second.cookies[Self.session])
                #expect(try await first.get("…").status == 200)
            } else {
                #expect(try await first.get(callback).status == 200)
                second.setCookie(Self.session, first.cookies[Self.session])
            }
            #expect(try await second.get("…").status == (areEqual ? 200 : 303))
        }
    }

    @Test(arguments: ["/.well-known/openid-configuration", "/keys", "/token"])
    func `A provider that hangs is reported, and keys still sign in`(_ path: String) async throws {
        provider.change { $0.silentPaths = [path] }
        let browser = ConsoleBrowser()
        let reply = try await browser.signIn()
        let words = "\(path) did not answer in time. Try again in a minute, or sign in with a key."
        #expect(reply.status == 503 && reply.words.contains(words), "\(reply.words)")
        #expect(try await browser.signIn(with: server.key(.auditor)).status == 303)
        provider.change { $0.silentPaths = [] }
        clock.advance(by: .seconds(60))
        #expect(try await ConsoleBrowser().signIn().status == 200)
    }

    /// Each sign-in requests one token from the provider. All other data is cached.
    @Test func `The provider's keys are fetched once`() async throws {
        for _ in 0..<3 { #expect(try await ConsoleBrowser().signIn().status == 200) }
        let paths = provider.received.map { $0.split(separator: " ")[1] }
        #expect(paths.count { $0 == "/keys" } == 1 && paths.count { $0 == "/token" } == 3)
    }

    @Test(
        arguments: [
            (["issuer": "https://other.example"], "states another issuer; --oidc-issuer must equal it"),
            (["token_endpoint": .null], "has no https URL as token_endpoint"),
            (["authorization_endpoint": "javascript:alert(1)"], "has no https URL as authorization_endpoint"),
            (["code_challenge_methods_supported": ["plain"]], "lacks PKCE with S256"),
            (["jwks_uri": "http://127.0.0.1:1/keys"], "http://127.0.0.1:1/keys cannot be reached"),
        ] as [(JSONObject, String)]
    )
    func `An unusable discovery document is reported on the page and by doctor`(
        _ document: JSONObject,
        _ words: String
    ) async throws {
        let settings = try Self.settings(provider.issuer)
        #expect(await Finding.aboutSignIn(settings) == nil)
        provider.change { $0.document = document }
        let reply = try await ConsoleBrowser().beginSignIn()
        #expect(reply.status == 503 && reply.words.contains(words), "\(reply.words)")
        let finding = await Finding.aboutSignIn(settings)
        #expect(finding?.code == .consoleSignIn && finding?.detail.contains(words) == true, "\(finding?.detail ?? "")")
    }
}

/// Runs the service with an identity provider and a second app, `com.example.taxi`, during a test.
struct ProviderTrait: TestTrait, SuiteTrait, TestScoping {
    @TaskLocal static var provider: TestProvider?
    let claim: String
    let isRecursive = true

    func provideScope(for _: Test, testCase _: Test.Case?, performing test: TestBody) async throws {
        try await TestProvider.run { provider in
            let settings = try ProviderSignInTests.settings(provider.issuer, claim: claim)
            try await ServiceTrait.timedService { $0.signIn = settings }.run { _ in
                _ = try await database.scope("com.example.taxi")
                try await Self.$provider.withValue(provider, operation: test)
            }
        }
    }
}

extension Trait where Self == ProviderTrait {
    static var provider: Self { provider(claim: "groups") }
    static func provider(claim: String) -> Self { ProviderTrait(claim: claim) }
}

/// The identity provider of a test with ``ProviderTrait``.
var provider: TestProvider { ProviderTrait.provider ?? { fatalError("The test lacks a trait of ProviderTrait.") }() }

extension Reply {
    /// The target of the page's immediate redirect.
    fileprivate var onward: String { String((fields[HTTPField.Name("Refresh")!] ?? "").dropFirst("0; url=".count)) }
}

extension ConsoleBrowser {
    /// Presses the button of the sign-in page.
    func beginSignIn(next: String? = nil) async throws -> Reply {
        var form = ["form": try await get("/console/sign-in").formToken]
        form["next"] = next
        return try await post(ConsoleLink.provider, form)
    }

    /// Signs in with the provider, and returns the last response.
    func signIn(next: String? = nil) async throws -> Reply {
        let begun = try await beginSignIn(next: next)
        return begun.status == 200 ? try await get(try await provider.answer(to: begun.onward)) : begun
    }
}

extension TestProvider {
    /// The path of the console to which the provider redirects the browser.
    fileprivate func answer(to address: String) async throws -> String {
        let reply = try await Reply.to(.get, String(address.dropFirst(issuer.count)), port: port)
        let location = try #require(reply.fields[.location], "\(address): \(reply.status)")
        return String(location[try #require(location.range(of: "/console/")).lowerBound...])
    }
}
