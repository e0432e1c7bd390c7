import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.secureService, .timeLimit(.minutes(2))) struct ConsoleRightsTests {
    /// The roles of each page, written independently of the code. A route that is missing here fails the test.
    private static let table: [(roles: [Role], routes: [String])] = [
        (
            [],
            [
                "GET /console/sign-in", "POST /console/sign-in", "POST /console/sign-in/provider",
                "GET /console/sign-in/callback", "POST /console/sign-out", "GET /console/assets/{version}/{name}",
            ]
        ),
        (
            [.auditor, .admin, .root],
            [
                "GET /console", "GET …", "GET …/search", "GET …/activities/{activityId}",
                "GET …/aliases/{kind}/{value}", "GET …/system", "GET …/stale", "GET …/stale/purge",
                "GET …/installations", "GET …/installations/{hash}", "GET …/channels", "GET …/keys",
            ]
        ),
        (
            [.admin, .root],
            ["POST …/stale/purge", "POST …/activities/{activityId}/release", "POST …/keys/{keyId}/revoke"]
        ),
    ]

    /// Browsers signed in with a key of each role, and with a provider as a person of each role.
    private static func browsers() async throws -> [(Role, ConsoleBrowser)] {
        var browsers: [(Role, ConsoleBrowser)] = []
        for role in [Role.auditor, .admin, .root] { browsers.append((role, try await .signedIn(as: role))) }
        for (role, group) in [(Role.auditor, "everyone"), (.admin, "push-admins")] {
            provider.change { $0.claims = ["groups": .string(group)] }
            let person = ConsoleBrowser()
            #expect(try await person.signIn().status == 200)
            browsers.append((role, person))
        }
        return browsers
    }

    /// Another app gets the same response as a missing app.
    @Test(.provider) func `Every page is for the roles of the table`() async throws {
        let browsers = try await Self.browsers()
        for route in Route.console {
            let name = "\(route.method.rawValue) \(route.template)"
                .replacing("/console/{bundleId}/{environment}", with: "…")
            let roles = try #require(
                Self.table.first { $0.routes.contains(name) }?.roles,
                "\(name) is not in the table"
            )
            #expect(roles.isEmpty == (route.access == .everyone))
            guard !roles.isEmpty else { continue }
            for (role, browser) in browsers {
                var strangers: Set<[UInt8]> = []
                for app in ["com.example.food", "com.example.taxi", "com.example.none"] {
                    let path = route.path(app)
                    let reply = try await Self.call(route.method, path, browser)
                    let isThere = app != "com.example.none" && (role == .root || app == "com.example.food")
                    let words = "\(role) \(name) \(app) \(reply.status) \(reply.words.prefix(300))"
                    if route.template.contains("{bundleId}"), !isThere {
                        #expect(reply.status == 404 && reply.text.contains("unknown-app"), "\(words)")
                        strangers.insert(reply.body)
                    } else if !roles.contains(role) {
                        #expect(reply.status == 403 && reply.text.contains("forbidden"), "\(words)")
                    } else {
                        #expect([200, 303, 404, 422].contains(reply.status), "\(words)")
                        #expect(!reply.text.contains("unknown-app"), "\(words)")
                    }
                }
                #expect(strangers.count <= 1, "\(role) \(name)")
            }
        }
    }

    private static func call(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ browser: ConsoleBrowser
    ) async throws -> Reply {
        guard method == .post else { return try await browser.get(path) }
        #expect(try await browser.post(path, ["form": "x"]).status >= 400)
        return try await browser.post(path, ["form": try await browser.get("…/keys").formToken])
    }

    @Test func `Every response has the security headers for browsers`() async throws {
        let browser = try await ConsoleBrowser.signedIn(as: .admin)
        let paths = [
            "…", "…/search", "…/stale", "…/stale/purge", "…/installations", "…/channels", "…/keys", "…/system",
            "/console/nowhere/at/all", "…/activities/none", "…/aliases/userId/u", "/console/x/y",
        ]
        for path in paths {
            let reply = try await browser.get(path)
            let policy = try #require(reply.fields[.contentSecurityPolicy], "\(path)")
            #expect(policy.hasPrefix("default-src 'none'; style-src 'self'; script-src 'self';"), "\(path)")
            for part in ["form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
                #expect(policy.contains(part))
            }
            #expect(!policy.contains("unsafe"))
            #expect(reply.fields[values: .contentSecurityPolicy].count == 1)
            #expect(reply.fields[.xContentTypeOptions] == "nosniff", "\(path)")
            #expect(reply.fields[HTTPField.Name("Referrer-Policy")!] == "no-referrer", "\(path)")
            #expect(reply.fields[.cacheControl] == "no-store", "\(path)")
            #expect(reply.fields[.contentType] == "text/html; charset=utf-8", "\(path)")
            #expect(reply.text.hasPrefix("<!doctype html>"), "\(path)")
            #expect(!reply.text.contains(/<style|<script>|style="|\son[a-z]+="|https?:\/\//), "\(path)")
        }
    }

    @Test func `Browsers cache the files of pages`() async throws {
        let browser = ConsoleBrowser()
        let page = try await browser.get("/console/sign-in").text
        let paths = page.matches(of: /(?:href|src)="(\/console\/assets\/[^"]+)"/).map { String($0.1) }
        #expect(paths.count == 4)
        for path in paths {
            let reply = try await browser.get(path)
            #expect(reply.status == 200 && reply.fields[.cacheControl]?.contains("immutable") == true, "\(path)")
        }
        #expect(try await browser.get("/console/assets/old/console.css").fields[.cacheControl] == "no-store")
        #expect(try await browser.get("/console/assets/old/none.css").status == 404)
    }

    @Test func `Problems are shown as pages`() async throws {
        let browser = try await ConsoleBrowser.signedIn(as: .auditor)
        for (path, status, words) in [
            ("…/nothing", 404, "The path is unknown"), ("…/nothing", 404, "no-such-route"),
            ("…/stale?reason=old", 422, "must be one of unconfirmed"), ("…/stale?cursor=abc", 422, "Open it again"),
        ] {
            let page = try await browser.get(path)
            #expect(page.status == status && page.words.contains(words), "\(page.words)")
        }
        let method = try await browser.post("…/stale", [:])
        #expect(method.status == 405 && method.fields[.allow] == "GET, HEAD")
    }
}
