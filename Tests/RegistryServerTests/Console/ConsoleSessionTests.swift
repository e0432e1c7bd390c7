import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(2))) struct ConsoleSessionTests {
    private static let cookie = "pushreg-console"

    @Test(.secureService) func `A key is exchanged for a session`() async throws {
        let browser = ConsoleBrowser(server)
        let away = try await browser.get("…/stale?kind=update")
        #expect(away.status == 303)
        let path = "/console/com.example.food/sandbox/stale?kind=update"
        #expect(away.fields[.location] == "/console/sign-in?next=\(ConsoleLink.encoded(path))")
        let key = try await server.key(.auditor)
        let reply = try await browser.signIn(with: key, next: path)
        #expect(reply.status == 303)
        #expect(reply.fields[.location] == path)
        let set = try #require(reply.fields[values: .setCookie].first { $0.hasPrefix(Self.cookie) })
        #expect(set.contains("; HttpOnly"))
        #expect(set.contains("; SameSite=Strict"))
        #expect(set.contains("Path=/console"))
        #expect(set.contains("Max-Age=1800"))
        #expect(!set.contains(key.key.secret.revealed))
        #expect(browser.cookies.count == 1)
        let page = try await browser.get(path)
        #expect(page.status == 200)
        #expect(page.words.contains("Stale tokens"))
        let out = try await browser.post("/console/sign-out", ["form": page.formToken])
        #expect(out.status == 303)
        #expect(browser.cookies.isEmpty)
        #expect(try await browser.get("…").status == 303)
    }

    @Test(.secureService) func `Unusable keys are refused with their own reasons`() async throws {
        let browser = ConsoleBrowser(server)
        for (role, words) in [(Role.client, "client key"), (.sender, "sender key")] {
            let reply = try await browser.signIn(with: server.key(role))
            #expect(reply.status == 403)
            #expect(reply.words.contains(words))
        }
        let stranger = try await browser.signIn(with: TestKey(key: APIKey(random: .admin)))
        #expect(stranger.status == 401)
        #expect(stranger.words.contains("not valid"))
        let expired = try await browser.signIn(with: server.key(.admin, expiresAt: .minutesAgo(1)))
        #expect(expired.status == 401)
        let form = try await browser.get("/console/sign-in").formToken
        let mistyped = try await browser.post("/console/sign-in", ["key": "pra_nonsense", "form": form])
        #expect(mistyped.status == 401)
        #expect(mistyped.words.contains("not a complete key"))
        #expect(!mistyped.text.contains("nonsense"))
        #expect(browser.cookies[Self.cookie] == nil)
    }

    @Test(.timedService()) func `A session ends with its key`() async throws {
        let key = try await server.key(.admin)
        let browser = ConsoleBrowser(server)
        try await browser.signIn(with: key)
        #expect(try await browser.get("…").status == 200)
        // On another instance, without a notification to this one.
        let app = try #require(try await server.registry.app(BundleID("com.example.food")))
        _ = try await server.registry.revokeKey(key.key.id, ofApp: app.id, by: "test")
        clock.advance(by: .seconds(5))
        #expect(try await browser.get("…").status == 303)
    }

    @Test(.timedService()) func `A session expires`() async throws {
        let browser = try await ConsoleBrowser.signedIn(server, as: .auditor)
        // An active user stays signed in, up to the maximum duration.
        for _ in 0..<19 {
            clock.advance(by: .seconds(25 * 60))
            #expect(try await browser.get("…").status == 200)
        }
        clock.advance(by: .seconds(25 * 60))
        #expect(try await browser.get("…").status == 303)
        let other = try await ConsoleBrowser.signedIn(server, as: .auditor)
        clock.advance(by: .seconds(30 * 60))
        #expect(try await other.get("…").status == 303)
    }

    @Test(.secureService) func `A cookie cannot be forged`() async throws {
        let browser = try await ConsoleBrowser.signedIn(server, as: .auditor)
        let cookie = try #require(browser.cookies[Self.cookie])
        let admin = try await server.key(.admin)
        let parts = cookie.split(separator: ".").map(String.init)
        var forged: [String] = [
            "", "1", ".....", String(cookie.dropLast()), cookie + "0", "2" + cookie.dropFirst(),
        ]
        for (place, text) in [
            (1, admin.key.id.rawValue), (2, "9999999999"), (3, "9999999999"), (3, "-1"), (4, "x"), (5, "00"),
            (2, "9223372036854775807"), (2, "-9223372036854775808"), (3, "9223372036854775807"), (2, "4294967295"),
        ] {
            var others = parts
            others[place] = text
            forged.append(others.joined(separator: "."))
        }
        for time in ["9223372036854775807", "4294967295", "4294967296", "18446744073709551615"] {
            forged.append([parts[0], parts[1], time, time, parts[4], parts[5]].joined(separator: "."))
        }
        // Sealed with one key for another key.
        let session = ConsoleSession(of: admin.key.id.rawValue, at: Date())
        forged.append(session.sealed(by: try await server.key(.auditor).key.secretDigest))
        for text in forged {
            browser.setCookie(Self.cookie, text)
            #expect(try await browser.get("…").status == 303, "\(text)")
        }
        browser.setCookie(Self.cookie, cookie)
        #expect(try await browser.get("…").status == 200)
    }

    @Test(.timedService { $0.trustedProxies = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) } })
    func `With TLS, cookies are secure`() async throws {
        let browser = try await ConsoleBrowser.signedIn(server, as: .auditor)
        #expect(Array(browser.cookies.keys) == ["__Host-pushreg-console"])
        #expect(try await browser.get("…").status == 200)
        let form = ConsoleBrowser(server)
        let set = try await form.get("/console/sign-in").fields[.setCookie] ?? ""
        #expect(set.contains("; Secure"))
        #expect(set.contains("; Path=/;"))
        form.fields[HTTPField.Name("X-Forwarded-Proto")!] = "http"
        #expect(try await form.get("/console/sign-in").fields[.setCookie]?.contains("Secure") == false)
    }

    @Test(.secureService) func `Forms of other sites are refused`() async throws {
        let browser = try await ConsoleBrowser.signedIn(server, as: .admin)
        let form = try await browser.get("…/keys").formToken
        let path = "…/activities/a/release"
        for (site, origin, token) in [
            ("cross-site", nil, form), ("same-site", nil, form), ("none", nil, form),
            (nil, "https://evil.example", form), (nil, "http://localhost:1", form),
            ("same-origin", nil, ""), ("same-origin", nil, String(form.dropLast()) + "x"), (nil, nil, ""),
        ] as [(String?, String?, String)] {
            (browser.fetchSite, browser.origin) = (site, origin)
            let reply = try await browser.post(path, ["form": token])
            #expect(reply.status == 403, "\(site ?? "-") \(origin ?? "-")")
        }
        for (site, origin) in [("same-origin", "null"), (nil, "null"), (nil, nil), (nil, "http://localhost")]
            as [(String?, String?)]
        {
            (browser.fetchSite, browser.origin) = (site, origin)
            #expect(try await browser.post(path, ["form": form]).status == 404, "\(site ?? "-") \(origin ?? "-")")
        }
        let other = try await ConsoleBrowser.signedIn(server, as: .admin)
        #expect(try await other.post(path, ["form": form]).status == 403)
    }

    @Test(.secureService) func `The sign-in form is bound to the browser`() async throws {
        let key = try await server.key(.auditor).key.text.revealed
        let (browser, other) = (ConsoleBrowser(server), ConsoleBrowser(server))
        let form = try await other.get("/console/sign-in").formToken
        #expect(try await browser.post("/console/sign-in", ["key": key, "form": form]).status == 403)
        _ = try await browser.get("/console/sign-in")
        #expect(try await browser.post("/console/sign-in", ["key": key, "form": form]).status == 403)
        #expect(browser.cookies["pushreg-console"] == nil)
        #expect(try await other.post("/console/sign-in", ["key": key, "form": form]).status == 303)
    }

    @Test(
        .timedService {
            $0.addressRate = RateLimit(rate: 1)
            $0.trustedProxies = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }
        }
    )
    func `Failed sign-ins are limited by address`() async throws {
        let (thief, admin) = (ConsoleBrowser(server), ConsoleBrowser(server))
        thief.fields[HTTPField.Name("X-Forwarded-For")!] = "9.9.9.9"
        admin.fields[HTTPField.Name("X-Forwarded-For")!] = "9.9.9.8"
        func guess() async throws -> Reply {
            let form = try await thief.get("/console/sign-in").formToken
            let key = APIKey(random: .admin).text.revealed
            return try await thief.post("/console/sign-in", ["key": key, "form": form])
        }
        #expect(try await [guess().status, guess().status] == [401, 401])
        let refused = try await guess()
        #expect(refused.status == 429)
        #expect(refused.fields[.retryAfter] == "1")
        #expect(refused.words.contains("Too many requests"))
        #expect(try await admin.signIn(with: server.key(.admin)).status == 303)
    }

    @Test(.service) func `Without authentication, the console has no sign-in`() async throws {
        let browser = ConsoleBrowser(server)
        #expect(try await browser.get("/console").fields[.location] == "/console/com.example.food/sandbox")
        let page = try await browser.get("…/stale/purge")
        #expect(page.status == 200 && page.words.contains("every visitor is root"))
        let refused = try await browser.post("…/stale/purge", ["confirmation": "com.example.food sandbox"])
        #expect(refused.status == 403)
    }
}
