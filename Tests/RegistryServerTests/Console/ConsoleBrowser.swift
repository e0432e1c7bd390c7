import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// A browser without a screen. It keeps cookies, sends `Sec-Fetch-Site`, and does not follow redirects.
final class ConsoleBrowser {
    let server: LiveServer
    private(set) var cookies: [String: String] = [:]
    /// The `Sec-Fetch-Site` of forms; nil omits it.
    var fetchSite: String? = "same-origin"
    var origin: String?
    var fields: HTTPFields = [:]

    init(_ server: LiveServer = RegistryServerTests.server) { self.server = server }

    static let scope = "/console/com.example.food/sandbox"

    static func signedIn(as role: Role) async throws -> ConsoleBrowser {
        let browser = ConsoleBrowser()
        let reply = try await browser.signIn(with: browser.server.key(role))
        try #require(reply.status == 303, "\(reply.text)")
        return browser
    }

    @discardableResult
    func signIn(with key: APIKey, next: String? = nil) async throws -> Reply {
        let page = try await get("/console/sign-in" + (next.map { "?next=\($0)" } ?? ""))
        var fields = ["key": key.text.revealed, "form": page.formToken]
        fields["next"] = next
        return try await post("/console/sign-in", fields)
    }

    /// `…` is replaced by the pages of the app and environment.
    func get(_ path: String, _ method: HTTPRequest.Method = .get) async throws -> Reply {
        try await send(method, path, nil, fields)
    }

    func post(_ path: String, _ form: [String: String]) async throws -> Reply {
        var all = fields
        all[.contentType] = "application/x-www-form-urlencoded"
        if let fetchSite { all[HTTPField.Name("Sec-Fetch-Site")!] = fetchSite }
        if let origin { all[.origin] = origin }
        let text = form.map { "\(ConsoleLink.encoded($0))=\(ConsoleLink.encoded($1))" }.joined(separator: "&")
        return try await send(.post, path, Array(text.utf8), all)
    }

    private func send(_ method: HTTPRequest.Method, _ path: String, _ body: [UInt8]?, _ fields: HTTPFields) async throws
        -> Reply
    {
        var all = fields
        if !cookies.isEmpty { all[.cookie] = cookies.map { "\($0)=\($1)" }.joined(separator: "; ") }
        let reply = try await server.send(method, path.replacing("…", with: Self.scope), body, all)
        for cookie in reply.fields[values: .setCookie] { take(cookie) }
        return reply
    }

    private func take(_ cookie: String) {
        let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        cookies[String(pair[0])] = cookie.contains("Max-Age=0") ? nil : String(pair[1])
    }

    func setCookie(_ name: String, _ value: String?) { cookies[name] = value }
}

extension Reply {
    var formToken: String { text.firstMatch(of: /name="form" value="([0-9a-f]+)"/).map { String($0.1) } ?? "" }

    var words: String {
        text.replacing(/<[^>]*>/, with: " ").replacing(/\s+/, with: " ")
            .replacing("&#39;", with: "'").replacing("&quot;", with: "\"")
            .replacing("&amp;", with: "&")
    }
}
