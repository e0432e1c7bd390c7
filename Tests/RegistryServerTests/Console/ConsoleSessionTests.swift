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
        let browser = ConsoleBrowser()
        let away = try await browser.get("…/stale?kind=update")
        #expect(away.status == 303)
        let path = "/console/com.example.food/sandbox/stale?kind=update"
        #expect(away.fields[.location] == "/console/sign-in?next=\(ConsoleLink.encoded(path))")
        let key = try await server.key(.auditor)
        let reply = try await browser.signIn(with: key, next: path)
        #expect(reply.status == 303)
        #expect(reply.fields[.location] == path)
        let set = try #require(reply.fields[values: .setCookie].first { $0.hasPrefix(Self.cookie) })
        for part in ["; HttpOnly", "; SameSite=Strict", "Path=/console", "Max-Age=1800"] { #expect(set.contains(part)) }
        #expect(!set.contains(key.secret.revealed))
        #expect(browser.cookies.count == 1)
        let page = try await browser.get(path)
        #expect(page.status == 200 && page.words.contains("Stale tokens"))
        #expect(try await browser.get("/console/sign-in").status == 303)
        #expect(try await browser.post("/console/sign-out", ["form": page.formToken]).status == 303)
        #expect(browser.cookies.isEmpty)
        #expect(try await browser.get("…").status == 303)
    }

    @Test(.secureService) func `Unusable keys are refused with their own reasons`() async throws {
        let browser = ConsoleBrowser()
        for (key, status, words) in [
            (try await server.key(.client), 403, "client key"), (try await server.key(.sender), 403, "sender key"),
            (APIKey(random: .admin), 401, "not valid"),
            (try await server.key(.admin, expiresAt: .minutesAgo(1)), 401, ""),
        ] {
            let reply = try await browser.signIn(with: key)
            #expect(reply.status == status && (words.isEmpty || reply.words.contains(words)))
        }
        let form = try await browser.get("/console/sign-in").formToken
        let mistyped = try await browser.post("/console/sign-in", ["key": "pra_nonsense", "form": form])
        #expect(mistyped.status == 401 && mistyped.words.contains("not a complete key"))
        #expect(!mistyped.text.contains("nonsense"))
        #expect(browser.cookies[Self.cookie] == nil)
    }

    @Test(.timedService()) func `A session ends with its key`() async throws {
        let key = try await server.key(.admin)
        let browser = ConsoleBrowser()
        try await browser.signIn(with: key)
        #expect(try await browser.get("…").status == 200)
        // On another instance, without a notification to this one.
        let app = try #require(try await server.registry.app(BundleID("com.example.food")))
        _ = try await server.registry.revokeKey(key.id, ofApp: app.id, by: "test")
        clock.advance(by: .seconds(5))
        #expect(try await browser.get("…").status == 303)
    }

    @Test(.timedService()) func `A session expires`() async throws {
        let browser = try await ConsoleBrowser.signedIn(as: .auditor)
        // An active user stays signed in, up to the maximum duration.
        for _ in 0..<19 {
            clock.advance(by: .seconds(25 * 60))
            #expect(try await browser.get("…").status == 200)
        }
        clock.advance(by: .seconds(25 * 60))
        #expect(try await browser.get("…").status == 303)
        let other = try await ConsoleBrowser.signedIn(as: .auditor)
        clock.advance(by: .seconds(30 * 60))
        #expect(try await other.get("…").status == 303)
    }

    @Test(.secureService) func `A cookie cannot be forged`() async throws {
        let browser = try await ConsoleBrowser.signedIn(as: .auditor)
        let cookie = try #require(browser.cookies[Self.cookie])
        let admin = try await server.key(.admin)
        let parts = cookie.split(separator: ".").map(String.init)
        var forged: [String] = ["", "1", ".....", String(cookie.dropLast()), cookie + "0", "2" + cookie.dropFirst()]
        for (place, text) in [
            (1, admin.id.rawValue), (2, "9999999999"), (3, "9999999999"), (3, "-1"), (4, "x"), (5, "00"),
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
        let session = ConsoleSession(of: admin.id.rawValue, at: Date())
        forged.append(session.sealed(by: try await server.key(.auditor).secretDigest))
        for text in forged {
            browser.setCookie(Self.cookie, text)
            #expect(try await browser.get("…").status == 303, "\(text)")
        }
        browser.setCookie(Self.cookie, cookie)
        #expect(try await browser.get("…").status == 200)
    }

    @Test(.secureService { $0.trustTest() }) func `With TLS, cookies are secure`() async throws {
        let browser = try await ConsoleBrowser.signedIn(as: .auditor)
        #expect(Array(browser.cookies.keys) == ["__Host-pushreg-console"])
        #expect(try await browser.get("…").status == 200)
        let form = ConsoleBrowser()
        let set = try await form.get("/console/sign-in").fields[.setCookie] ?? ""
        #expect(set.contains("; Secure"))
        #expect(set.contains("; Path=/;"))
        form.fields[HTTPField.Name("X-Forwarded-Proto")!] = "http"
        #expect(try await form.get("/console/sign-in").fields[.setCookie]?.contains("Secure") == false)
    }

    @Test(.secureService) func `Forms of other sites are refused`() async throws {
        let browser = try await ConsoleBrowser.signedIn(as: .admin)
        let form = try await browser.get("…/keys").formToken
        let path = "…/activities/a/release"
        for (site, origin, token, status) in [
            ("cross-site", nil, form, 403), ("same-site", nil, form, 403), ("none", nil, form, 403),
            (nil, "https://evil.example", form, 403), (nil, "http://localhost:1", form, 403),
            ("same-origin", nil, "", 403), ("same-origin", nil, String(form.dropLast()) + "x", 403),
            (nil, nil, "", 403), ("same-origin", "null", form, 404), (nil, "null", form, 404), (nil, nil, form, 404),
            (nil, "http://localhost", form, 404),
        ] as [(String?, String?, String, Int)] {
            (browser.fetchSite, browser.origin) = (site, origin)
            #expect(try await browser.post(path, ["form": token]).status == status, "\(site ?? "-") \(origin ?? "-")")
        }
        let other = try await ConsoleBrowser.signedIn(as: .admin)
        #expect(try await other.post(path, ["form": form]).status == 403)
    }

    @Test(.secureService) func `The sign-in form is bound to the browser`() async throws {
        let key = try await server.key(.auditor).text.revealed
        let (browser, other) = (ConsoleBrowser(), ConsoleBrowser())
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
            $0.trustTest()
        }
    )
    func `Failed sign-ins are limited by address`() async throws {
        let (thief, admin) = (ConsoleBrowser(), ConsoleBrowser())
        (thief.fields, admin.fields) = (thief.fields.from("9.9.9.9"), admin.fields.from("9.9.9.8"))
        func guess() async throws -> Reply {
            let form = try await thief.get("/console/sign-in").formToken
            let key = APIKey(random: .admin).text.revealed
            return try await thief.post("/console/sign-in", ["key": key, "form": form])
        }
        #expect(try await [guess().status, guess().status] == [401, 401])
        let refused = try await guess()
        #expect(refused.status == 429 && refused.words.contains("Too many requests"))
        #expect(refused.fields[.retryAfter] == "1")
        #expect(try await admin.signIn(with: server.key(.admin)).status == 303)
    }

    @Test(
        .secureService {
            $0.addressRate = RateLimit(rate: 1)
            $0.signIn = try? ProviderSignInTests.settings("https://login.example.com")
            $0.trustTest()
        }
    )
    func `Responses of a provider are limited by address`() async throws {
        for status in [403, 403, 429] {
            #expect(
                try await server.call(.get, ConsoleLink.callback, nil, HTTPFields().from("9.9.9.9")).status == status
            )
        }
    }

    @Test(.service) func `Without authentication, the console has no sign-in`() async throws {
        let browser = ConsoleBrowser()
        #expect(try await browser.get("/console").fields[.location] == "/console/com.example.food/sandbox")
        let page = try await browser.get("…/stale/purge")
        #expect(page.status == 200 && page.words.contains("every visitor is root"))
        #expect(try await browser.post("…/stale/purge", ["confirmation": "com.example.food sandbox"]).status == 403)
    }
}
