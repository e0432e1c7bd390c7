import Foundation
import HTTPTypes
import Logging
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Sign-in to the console with an identity provider, and each refusal of a sign-in.
@Suite(.timeLimit(.minutes(3))) struct ProviderSignInTests {
    static let session = "pushreg-console"
    static let attempt = "pushreg-provider"

    static let rules = """
        admin:com.example.food=push-admins; auditor:com.example.food=everyone; auditor:com.example.taxi=CN=Taxi; \
        admin:com.example.food=jane@example.com
        """

    static func settings(
        _ issuer: String,
        claim: String = "groups",
        rules: String = rules,
        publicURL: String = "http://localhost:8080"
    ) throws -> SignInSettings {
        try SignInSettings(
            issuer: issuer,
            clientID: TestProvider.clientID,
            clientSecret: Secret(TestProvider.clientSecret),
            claim: claim,
            rules: rules,
            publicURL: publicURL
        )
    }

    static func run(
        claim: String = "groups",
        clock: ManualClock = ManualClock(),
        logger: Logger = .silent,
        _ test: @Sendable (LiveServer, TestProvider) async throws -> Void
    ) async throws {
        let database = try await TestDatabase.make()
        _ = try await (database.scope(), database.scope("com.example.taxi"))
        try await TestProvider.run { provider in
            let settings = try settings(provider.issuer, claim: claim)
            try await serve(database, settings, clock, logger) { try await test($0, provider) }
        }
    }

    static func serve(
        _ database: TestDatabase,
        _ settings: SignInSettings,
        _ clock: ManualClock = ManualClock(),
        _ logger: Logger = .silent,
        _ test: @Sendable (LiveServer) async throws -> Void
    ) async throws {
        var configuration = ServerConfiguration(port: 0)
        configuration.signIn = settings
        let responder = RegistryResponder(
            registry: database.registry,
            configuration: configuration,
            clock: clock.clock,
            logger: logger
        )
        try await LiveServer.run(responder, configuration, test)
    }

    // MARK: - Signing in and out

    @Test func `A person signs in, acts under their name, and signs out`() async throws {
        let log = RecordedLog()
        try await Self.run(logger: log.logger) { server, provider in
            let browser = ConsoleBrowser(server)
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
            let key = try await server.key(.auditor).key.id.rawValue
            let form = ["form": page.formToken, "confirmation": key]
            #expect(try await browser.post("…/keys/\(key)/revoke", form).status == 303)
            #expect(
                try await browser.get("…/search?q=event:key-revoked").words.contains("console:jane@example.com 2481")
            )
            #expect(try await browser.post("/console/sign-out", ["form": page.formToken]).status == 303)
            #expect(browser.cookies[Self.session] == nil)
            #expect(try await browser.get("…").status == 303)
            let secret = TestProvider.clientSecret
            #expect(!log.text.contains(secret) && !provider.received.joined().contains(secret))
        }
    }

    @Test func `Sign-in with a key works with and without a provider`() async throws {
        try await Self.run { (server: LiveServer, _: TestProvider) async throws in
            #expect(try await ConsoleBrowser.signedIn(server, as: .auditor).get("…").status == 200)
        }
        let (database, _) = try await TestDatabase.withScope()
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { (server: LiveServer) async throws in
            let browser = ConsoleBrowser(server)
            #expect(try await !browser.get("/console/sign-in").words.contains("Sign in with"))
            #expect(try await browser.beginSignIn().status == 404)
            #expect(try await browser.get(ConsoleLink.callback + "?code=a&state=b").status == 404)
        }
    }

    @Test func `A session ends after half an hour of inactivity, and at the latest after eight hours`() async throws {
        let clock = ManualClock()
        try await Self.run(clock: clock) { (server: LiveServer, provider: TestProvider) async throws in
            let (browser, idle) = (ConsoleBrowser(server), ConsoleBrowser(server))
            for browser in [browser, idle] { #expect(try await browser.signIn(at: provider).status == 200) }
            // A change at the provider has no effect before the end of the session.
            provider.change { $0.claims = ["groups": ["others"]] }
            for step in 1...19 {
                clock.advance(by: .seconds(25 * 60))
                #expect(try await browser.get("…").status == 200)
                if step == 2 { #expect(try await idle.get("…").status == 303) }
            }
            clock.advance(by: .seconds(25 * 60))
            #expect(try await browser.get("…").status == 303)
        }
    }

    // MARK: - Roles

    @Test func `Roles come from values of the claim`() async throws {
        let cases: [(JSONObject, Int)] = [
            (["groups": "push-admins"], 200), (["groups": ["a", "everyone"]], 200),
            (["groups": ["everyone", "push-admins"]], 200),
            (["groups": ["Push-Admins"]], 403), (["groups": []], 403), (["groups": ["push-admins", 1]], 403),
            (["groups": ["push-admins": true]], 403), (["groups": .null], 403),
            (["groups": "push-admins everyone"], 403),
        ]
        try await Self.run { server, provider in
            for (claims, status) in cases {
                provider.change { $0.claims = claims }
                let browser = ConsoleBrowser(server)
                let reply = try await browser.signIn(at: provider)
                #expect(reply.status == status, "\(reply.words)")
                #expect((browser.cookies[Self.session] != nil) == (status == 200))
                guard status != 200 else {
                    // The role admin wins, regardless of the order of the rules.
                    let role = "\(claims["groups"] ?? "")".contains("push-admins") ? "admin" : "auditor"
                    #expect(try await browser.get("…").words.contains("Signed in as \(role) console:"))
                    continue
                }
                let isMissing = claims["groups"] == .null
                let fault = isMissing ? "has no claim groups. Add it" : "You have no role here: --oidc-roles"
                #expect(reply.words.contains(fault), "\(reply.words)")
            }
        }
    }

    @Test func `An email address is used only if the provider has verified it`() async throws {
        try await Self.run(claim: "email") { server, provider in
            for verified in [.null, false, "false", 1] as [JSONValue] {
                provider.change { $0.claims = ["email_verified": verified] }
                let reply = try await ConsoleBrowser(server).signIn(at: provider)
                #expect(reply.status == 403 && reply.words.contains("is verified"), "\(reply.words)")
            }
            for verified in [true, "true"] as [JSONValue] {
                provider.change { $0.claims = ["email_verified": verified] }
                #expect(try await ConsoleBrowser(server).signIn(at: provider).status == 200)
            }
        }
    }

    @Test func `An unverified address or a name of several words is omitted`() async throws {
        try await Self.run { server, provider in
            for (claims, name) in [
                (["preferred_username": "j.d", "email_verified": false], "console:j.d 2481"),
                (["preferred_username": "bob 17", "email_verified": false], "console:2481"),
                (["email": "eve@x 1"], "console:2481"),
            ] as [(JSONObject, String)] {
                provider.change { $0.claims["groups"] = "everyone" }
                provider.change { for member in claims { $0.claims[member.key] = member.value } }
                let browser = ConsoleBrowser(server)
                _ = try await browser.signIn(at: provider)
                #expect(try await browser.get("…").words.contains("Signed in as auditor \(name)"), "\(name)")
                provider.change { $0.claims = [:] }
            }
        }
    }

    @Test func `A person has the role of each of their apps`() async throws {
        try await Self.run { server, provider in
            provider.change { $0.claims = ["groups": ["CN=Taxi", "push-admins"]] }
            let browser = ConsoleBrowser(server)
            _ = try await browser.signIn(at: provider)
            let apps = try await browser.get("/console")
            #expect(
                apps.status == 200 && apps.words.contains("com.example.food") && apps.words.contains("com.example.taxi")
            )
            #expect(try await browser.get("/console/com.example.food/sandbox/keys").words.contains("as admin"))
            #expect(try await browser.get("/console/com.example.taxi/sandbox/keys").words.contains("as auditor"))
            let form = try await browser.get("…").formToken
            let purge = "/sandbox/stale/purge"
            #expect(try await browser.post("/console/com.example.taxi\(purge)", ["form": form]).status == 403)
            #expect(try await browser.post("/console/com.example.food\(purge)", ["form": form]).status == 422)
        }
    }

    @Test func `A person may do exactly what a key of the role may`() async throws {
        try await Self.run { server, provider in
            for (role, group) in [(Role.auditor, "everyone"), (.admin, "push-admins")] {
                provider.change { $0.claims = ["groups": .string(group)] }
                let (person, key) = (ConsoleBrowser(server), try await ConsoleBrowser.signedIn(server, as: role))
                _ = try await person.signIn(at: provider)
                for route in Route.console where route.access != .everyone {
                    for app in ["com.example.food", "com.example.taxi", "com.example.none"] {
                        let path = route.template.replacingOccurrences(of: "{bundleId}", with: app)
                            .replacingOccurrences(of: "{environment}", with: "sandbox").replacing(/\{\w+\}/, with: "x")
                        var statuses: [Int] = []
                        for browser in [person, key] {
                            guard route.method == .post else {
                                statuses.append(try await browser.get(path).status)
                                continue
                            }
                            let form = try await browser.get("…").formToken
                            statuses.append(try await browser.post(path, ["form": form]).status)
                            #expect(try await browser.post(path, ["form": "x"]).status >= 400)
                        }
                        #expect(statuses[0] == statuses[1], "\(role) \(route.method) \(path)")
                    }
                }
            }
        }
    }

    // MARK: - Refused answers

    @Test func `A provider's response is valid once, soon, and in the browser that began`() async throws {
        let clock = ManualClock()
        try await Self.run(clock: clock) { server, provider in
            func refusal(_ browser: ConsoleBrowser, _ path: String) async throws -> String {
                let reply = try await browser.get(path)
                #expect(browser.cookies[Self.session] == nil && reply.status >= 400, "\(path)")
                return reply.words
            }
            let words = "did not begin in this browser, or took over ten minutes. Open http://localhost:8080/console"
            let browser = ConsoleBrowser(server)
            let callback = try await provider.answer(to: browser.beginSignIn().onward)
            let kept = browser.cookies[Self.attempt]
            #expect(try await refusal(ConsoleBrowser(server), callback).contains(words))
            let other = ConsoleBrowser(server)
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
            let thief = ConsoleBrowser(server)
            thief.setCookie(Self.attempt, browser.cookies[Self.attempt])
            #expect(try await browser.get(again).status == 200)
            browser.setCookie(Self.session, nil)
            #expect(try await refusal(browser, again).contains(words))
            // Even with the cookie, the code cannot be used again.
            #expect(try await refusal(thief, again).contains("(invalid_grant)"))
        }
    }

    @Test func `Only the console's own form begins a sign-in`() async throws {
        try await Self.run { server, provider in
            let browser = ConsoleBrowser(server)
            let form = try await browser.get("/console/sign-in").formToken
            #expect(try await browser.post(ConsoleLink.provider, ["form": form + "0"]).status == 403)
            #expect(try await ConsoleBrowser(server).post(ConsoleLink.provider, ["form": form]).status == 403)
            browser.fetchSite = "cross-site"
            #expect(try await browser.post(ConsoleLink.provider, ["form": form]).status == 403)
            #expect(try await browser.get(ConsoleLink.provider).status == 405)
            #expect(provider.received.isEmpty && browser.cookies[Self.attempt] == nil)
        }
    }

    @Test func `An ID token for another purpose is refused`() async throws {
        let cases: [(JSONObject, String)] = [
            (["nonce": "x"], "Its nonce is not from this sign-in"),
            (["nonce": .null], "Its nonce is not from this sign-in"),
            (["aud": "another"], "Its aud is not"), (["aud": ["another"]], "Its aud is not"),
            (["aud": .null], "It has no aud"),
            (["aud": ["pushreg console", "another"]], "Its azp is not the client id"),
            (["azp": "another"], "Its azp is not"),
            (["iss": "https://evil.example"], "Its iss is not"), (["iss": .null], "Its iss is not"),
            (["exp": 1_000_000_000], "Its exp is in the past"), (["exp": .null], "Its exp must be a number"),
            (["nbf": 9_000_000_000], "Its nbf is in the future"), (["sub": .null], "Its sub must be"),
        ]
        try await Self.run { server, provider in
            for (claims, words) in cases {
                provider.change { $0.claims = JSONObject([("groups", "everyone")]) }
                provider.change { for member in claims { $0.claims[member.key] = member.value } }
                let browser = ConsoleBrowser(server)
                let reply = try await browser.signIn(at: provider)
                #expect(reply.status == 401 && reply.words.contains(words), "\(reply.words)")
                #expect(browser.cookies[Self.session] == nil && browser.cookies[Self.attempt] == nil)
            }
            // A token with both audiences and the right authorized party is accepted.
            provider.change {
                $0.claims = ["groups": "everyone", "aud": ["pushreg console", "b"], "azp": "pushreg console"]
            }
            #expect(try await ConsoleBrowser(server).signIn(at: provider).status == 200)
        }
    }

    @Test func `A token signed by another key and a response of another issuer are refused`() async throws {
        try await Self.run { server, provider in
            provider.change { $0.signsWithAnotherKey = true }
            let forged = try await ConsoleBrowser(server).signIn(at: provider)
            #expect(
                forged.status == 401 && forged.words.contains("ID token is refused. The credentials are not valid"),
                "\(forged.words)"
            )
            provider.change { $0.signsWithAnotherKey = false }
            for issuer in ["&iss=https%3A%2F%2Fevil.example", ""] {
                let browser = ConsoleBrowser(server)
                let callback = try await provider.answer(to: browser.beginSignIn().onward)
                let reply = try await browser.get(callback.replacing(/&iss=[^&]+/, with: issuer))
                #expect(reply.status == 403 && reply.words.contains("is not from 127.0.0.1"), "\(reply.words)")
            }
            provider.change { $0.error = "access_denied" }
            let denied = try await ConsoleBrowser(server).signIn(at: provider)
            #expect(
                denied.status == 403 && denied.words.contains("did not sign you in (access_denied)"),
                "\(denied.words)"
            )
            provider.change { $0.error = "%3Cscript%3E" }
            #expect(
                try await ConsoleBrowser(server).signIn(at: provider).words.contains("did not sign you in. Sign in")
            )
        }
    }

    /// An attacker gets a person's code, or requests a code without a challenge, and uses it in their own sign-in.
    @Test(arguments: [false, true]) func `A code of another sign-in is refused`(_ isLax: Bool) async throws {
        try await Self.run { server, provider in
            provider.change { $0.neglectsPKCE = isLax }
            let (victim, attacker) = (ConsoleBrowser(server), ConsoleBrowser(server))
            let address = try await victim.beginSignIn().onward.replacing(
                isLax ? /&code_challenge\w*=[^&]+/ : /^$/,
                with: ""
            )
            let code = try await provider.answer(to: address).firstMatch(of: /code=([^&]+)/)?.1
            let own = try await provider.answer(to: attacker.beginSignIn().onward)
            let reply = try await attacker.get(own.replacing(/code=[^&]+/, with: "code=\(code ?? "")"))
            #expect(
                reply.words.contains(isLax ? "Its nonce is not from this sign-in" : "(invalid_grant)"),
                "\(reply.words)"
            )
            #expect(attacker.cookies[Self.session] == nil)
        }
    }

    @Test(arguments: [
        ("https://evil.example/console", false), ("//evil.example/console", false), ("/console/../v1/apps", false),
        ("/console/%2e%2E/docs", false), ("/console/.%2e", false), ("/console\\..\\..", false), ("\\console", false),
        ("/console.evil.example", false), ("/consoleevil", false), ("/v1/apps", false), ("javascript:alert(1)", false),
        ("/console/\u{7F}", false), ("/console", true), ("/console/a/b?c=d", true), ("/console/a..b", true),
        ("/console/a/b/activities/..x", true), ("/console/a/b/search?q=/../", true),
    ])
    func `A path is the console's own or not`(_ path: String, _ isOwn: Bool) {
        #expect(ConsoleLink.isOwn(path) == isOwn)
    }

    @Test func `A sign-in redirects only to the console`() async throws {
        let next = "https://evil.example/console"
        try await Self.run { server, provider in
            #expect(try await ConsoleBrowser(server).signIn(at: provider, next: next).onward == ConsoleLink.home)
            // A path in the cookie that the console did not seal is refused.
            let browser = ConsoleBrowser(server)
            let callback = try await provider.answer(to: browser.beginSignIn().onward)
            let parts = (browser.cookies[Self.attempt] ?? "").split(separator: ".").map(String.init)
            browser.setCookie(Self.attempt, "\(parts[0]).\(parts[1]).\(Base64URL.encode(Array(next.utf8)))")
            #expect(try await browser.get(callback).status == 403)
        }
    }

    @Test func `A forged session cookie is refused`() async throws {
        try await Self.run { server, provider in
            provider.change { $0.claims = ["groups": "everyone"] }
            let browser = ConsoleBrowser(server)
            _ = try await browser.signIn(at: provider)
            let cookie = try #require(browser.cookies[Self.session])
            let parts = cookie.split(separator: ".").map(String.init)
            let holder = parts[1].split(separator: ":").map(String.init)
            let settings = try Self.settings(provider.issuer)
            var forged: [String] = []
            for (place, text) in [
                (1, holder[0] + ":0"), (1, holder[0] + ":1:2"), (1, holder[0]), (1, holder[0] + ":999"), (1, ":1"),
                (1, Base64URL.encode(Array("console:eve".utf8)) + ":1"), (2, "1"), (3, "4294967295"), (4, "0"),
                (5, "0"),
            ] {
                var others = parts
                others[place] = text
                forged.append(others.joined(separator: "."))
            }
            // With other settings, the same position in the rules means another role.
            for others in [
                try Self.settings(provider.issuer, rules: "admin:com.example.food=everyone"),
                try Self.settings(provider.issuer, claim: "roles"), try Self.settings("https://a.example"),
            ] {
                let session = ConsoleSession(of: holder[0] + ":0", at: Date())
                forged.append(session.sealed(by: others.sealingKey))
                #expect(others.sealingKey != settings.sealingKey)
            }
            for text in forged {
                browser.setCookie(Self.session, text)
                #expect(try await browser.get("…").status == 303, "\(text)")
            }
            browser.setCookie(Self.session, cookie)
            #expect(try await browser.get("…").status == 200)
        }
    }

    @Test func `An attempt's cookie cannot be changed`() async throws {
        try await Self.run { server, provider in
            for (place, text) in [(0, "0"), (1, "4294967295"), (1, "x"), (2, ""), (2, "!"), (3, "x")] {
                let browser = ConsoleBrowser(server)
                let callback = try await provider.answer(to: browser.beginSignIn().onward)
                var parts = (browser.cookies[Self.attempt] ?? "").split(separator: ".").map(String.init)
                if place < parts.count { parts[place] = text } else { parts.append(text) }
                browser.setCookie(Self.attempt, parts.joined(separator: "."))
                let reply = try await browser.get(callback)
                #expect(reply.status == 403 && browser.cookies[Self.session] == nil, "\(place) \(text)")
            }
        }
    }

    // MARK: - Several instances, and faults of the provider

    @Test func `Another instance can complete a sign-in and accepts its session`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        try await TestProvider.run { provider in
            let settings = try Self.settings(provider.issuer)
            try await Self.serve(database, settings) { one in
                try await Self.serve(database, settings) { other in
                    let first = ConsoleBrowser(one)
                    let callback = try await provider.answer(to: first.beginSignIn().onward)
                    let second = ConsoleBrowser(other)
                    second.setCookie(Self.attempt, first.cookies[Self.attempt])
                    #expect(try await second.get(callback).status == 200)
                    first.setCookie(Self.session, second.cookies[Self.session])
                    #expect(try await (first.get("…").status, second.get("…").status) == (200, 200))
                }
            }
            // A change of the settings ends sessions and attempts.
            let changed = try Self.settings(provider.issuer, rules: "admin:com.example.food=push-admins")
            try await Self.serve(database, settings) { one in
                try await Self.serve(database, changed) { other in
                    let (first, second) = (ConsoleBrowser(one), ConsoleBrowser(other))
                    let callback = try await provider.answer(to: first.beginSignIn().onward)
                    second.setCookie(Self.attempt, first.cookies[Self.attempt])
                    #expect(try await second.get(callback).status == 403)
                    #expect(try await first.get(callback).status == 200)
                    second.setCookie(Self.session, first.cookies[Self.session])
                    #expect(try await second.get("…").status == 303)
                }
            }
        }
    }

    @Test(arguments: ["/.well-known/openid-configuration", "/keys", "/token"])
    func `A provider that hangs is reported, and keys still sign in`(_ path: String) async throws {
        let clock = ManualClock()
        try await Self.run(clock: clock) { server, provider in
            provider.change { $0.silentPaths = [path] }
            let browser = ConsoleBrowser(server)
            let reply = try await browser.signIn(at: provider)
            #expect(reply.status == 503, "\(reply.words)")
            let words = "\(path) cannot be reached. Try again in a minute, or sign in with a key."
            #expect(reply.words.contains(words), "\(reply.words)")
            #expect(try await browser.signIn(with: server.key(.auditor)).status == 303)
            provider.change { $0.silentPaths = [] }
            clock.advance(by: .seconds(60))
            #expect(try await ConsoleBrowser(server).signIn(at: provider).status == 200)
        }
    }

    /// Each sign-in requests one token from the provider. All other data is cached.
    @Test func `The provider's keys are fetched once`() async throws {
        try await Self.run { (server: LiveServer, provider: TestProvider) async throws in
            for _ in 0..<3 { #expect(try await ConsoleBrowser(server).signIn(at: provider).status == 200) }
            let paths = provider.received.map { $0.split(separator: " ")[1] }
            #expect(paths.count { $0 == "/keys" } == 1 && paths.count { $0 == "/token" } == 3)
        }
    }

    @Test func `Responses of the provider are limited by address`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        let responder = TestResponder(database.registry) { configuration in
            configuration.addressRate = RateLimit(rate: 1)
            configuration.signIn = try? Self.settings("https://login.example.com")
        }
        try await responder.run(database.registry) { server in
            let browser = ConsoleBrowser(server)
            browser.fields[TestResponder.forwarded] = "9.9.9.9"
            var statuses: [Int] = []
            for _ in 0..<3 { statuses.append(try await browser.get(ConsoleLink.callback).status) }
            #expect(statuses == [403, 403, 429])
        }
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
        try await Self.run { server, provider in
            let settings = try Self.settings(provider.issuer)
            #expect(await Finding.aboutSignIn(settings) == nil)
            provider.change { $0.document = document }
            let reply = try await ConsoleBrowser(server).beginSignIn()
            #expect(reply.status == 503 && reply.words.contains(words), "\(reply.words)")
            let finding = await Finding.aboutSignIn(settings)
            #expect(
                finding?.code == .consoleSignIn && finding?.detail.contains(words) == true,
                "\(finding?.detail ?? "")"
            )
        }
    }
}

extension Reply {
    /// The target of the page's immediate redirect.
    var onward: String { String((fields[HTTPField.Name("Refresh")!] ?? "").dropFirst("0; url=".count)) }
}

extension ConsoleBrowser {
    /// Presses the button of the sign-in page.
    func beginSignIn(next: String? = nil) async throws -> Reply {
        var form = ["form": try await get("/console/sign-in").formToken]
        form["next"] = next
        return try await post(ConsoleLink.provider, form)
    }

    /// Signs in with the provider, and returns the last response.
    func signIn(at provider: TestProvider, next: String? = nil) async throws -> Reply {
        let begun = try await beginSignIn(next: next)
        return begun.status == 200 ? try await get(try await provider.answer(to: begun.onward)) : begun
    }
}

extension TestProvider {
    /// The path of the console to which the provider redirects the browser.
    func answer(to address: String) async throws -> String {
        let target = String(address.dropFirst(issuer.count))
        let reply = try await HTTPExchange.run(.get, target, port: port)
        guard let location = reply.fields[.location], let start = location.range(of: "/console/") else {
            throw Unexpected(text: "\(address): \(reply.status) \(String(decoding: reply.body, as: UTF8.self))")
        }
        return String(location[start.lowerBound...])
    }

    struct Unexpected: Error {
        let text: String
    }
}
