import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.secureService, .timeLimit(.minutes(2))) struct ConsoleRightsTests {
    /// The roles of each page, written independently of the code. A route that is missing here fails the test.
    private static let table: [(String, [Role])] = [
        ("GET /console", [.auditor, .admin, .root]), ("GET /console/sign-in", []), ("POST /console/sign-in", []),
        ("POST /console/sign-in/provider", []), ("GET /console/sign-in/callback", []),
        ("POST /console/sign-out", []), ("GET /console/assets/{version}/{name}", []),
        ("GET …", [.auditor, .admin, .root]), ("GET …/search", [.auditor, .admin, .root]),
        ("GET …/activities/{activityId}", [.auditor, .admin, .root]),
        ("GET …/aliases/{kind}/{value}", [.auditor, .admin, .root]), ("GET …/system", [.auditor, .admin, .root]),
        ("GET …/stale", [.auditor, .admin, .root]), ("GET …/stale/purge", [.auditor, .admin, .root]),
        ("GET …/installations", [.auditor, .admin, .root]), ("GET …/installations/{hash}", [.auditor, .admin, .root]),
        ("GET …/channels", [.auditor, .admin, .root]), ("GET …/keys", [.auditor, .admin, .root]),
        ("POST …/stale/purge", [.admin, .root]), ("POST …/activities/{activityId}/release", [.admin, .root]),
        ("POST …/keys/{keyId}/revoke", [.admin, .root]),
    ]

    private static func path(_ route: Route, _ app: String) -> String {
        route.template.replacingOccurrences(of: "{bundleId}", with: app)
            .replacingOccurrences(of: "{environment}", with: "sandbox").replacing(/\{\w+\}/, with: "x")
    }

    @Test func `Every page is for the roles of the table`() async throws {
        _ = try await database.scope("com.example.taxi")
        let browsers = [
            (Role.auditor, try await ConsoleBrowser.signedIn(server, as: .auditor)),
            (.admin, try await ConsoleBrowser.signedIn(server, as: .admin)),
            (.root, try await ConsoleBrowser.signedIn(server, as: .root)),
        ]
        for route in Route.console {
            let name = "\(route.method.rawValue) \(route.template)"
                .replacingOccurrences(of: "/console/{bundleId}/{environment}", with: "…")
            let roles = try #require(Self.table.first { $0.0 == name }?.1, "\(name) is not in the table")
            #expect(roles.isEmpty == (route.access == .everyone))
            guard !roles.isEmpty else { continue }
            for app in ["com.example.food", "com.example.taxi", "com.example.none"] {
                for (role, browser) in browsers {
                    let isPost = route.method == .post
                    let form = isPost ? try await browser.get("…/keys").formToken : ""
                    let path = Self.path(route, app)
                    let reply = isPost ? try await browser.post(path, ["form": form]) : try await browser.get(path)
                    let isThere = app != "com.example.none" && (role == .root || app == "com.example.food")
                    let words = "\(role) \(name) \(app) \(reply.status) \(reply.words.prefix(300))"
                    if route.template.contains("{bundleId}"), !isThere {
                        #expect(reply.status == 404 && reply.text.contains("unknown-app"), "\(words)")
                    } else if !roles.contains(role) {
                        #expect(reply.status == 403 && reply.text.contains("forbidden"), "\(words)")
                    } else {
                        #expect([200, 303, 404, 422].contains(reply.status), "\(words)")
                        #expect(!reply.text.contains("unknown-app"), "\(words)")
                    }
                }
            }
        }
    }

    @Test func `Another app gets the same response as a missing app`() async throws {
        _ = try await database.scope("com.example.taxi")
        let browser = try await ConsoleBrowser.signedIn(server, as: .admin)
        for page in ["", "/keys", "/search?q=x", "/stale"] {
            let other = try await browser.get("/console/com.example.taxi/sandbox\(page)")
            let none = try await browser.get("/console/com.example.nope/sandbox\(page)")
            #expect(other.status == 404)
            #expect(other.bytes == none.bytes)
        }
    }

    @Test func `Every response has the security headers for browsers`() async throws {
        let browser = try await ConsoleBrowser.signedIn(server, as: .admin)
        let paths = [
            "…", "…/search", "…/stale", "…/stale/purge", "…/installations", "…/channels", "…/keys", "…/system",
            "/console/sign-in", "/console/nowhere/at/all", "…/activities/none", "…/aliases/userId/u",
            "/console/x/y",
        ]
        for path in paths {
            let reply = try await browser.get(path)
            if path == "/console/sign-in" {
                #expect(reply.status == 303)
                continue
            }
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
        let browser = ConsoleBrowser(server)
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
        let browser = try await ConsoleBrowser.signedIn(server, as: .auditor)
        let nowhere = try await browser.get("…/nothing")
        #expect(nowhere.status == 404)
        #expect(nowhere.words.contains("no-such-route"))
        #expect(nowhere.words.contains("Not found"))
        #expect(nowhere.text.contains("<title>Not found"))
        let wrong = try await browser.get("…/stale?reason=old")
        #expect(wrong.status == 422)
        #expect(wrong.words.contains("must be one of unconfirmed"))
        let method = try await browser.post("…/stale", [:])
        #expect(method.status == 405)
        #expect(method.fields[.allow] == "GET, HEAD")
        let cursor = try await browser.get("…/stale?cursor=abc")
        #expect(cursor.status == 422)
        #expect(cursor.words.contains("Open it again"))
    }
}
