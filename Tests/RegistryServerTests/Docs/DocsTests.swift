import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing
import WebAssets

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct DocsTests {
    private static func pages(_ server: LiveServer) async throws -> [String: Reply] {
        var pages: [String: Reply] = [:]
        for path in DocsSite.pages.keys { pages[path] = try await server.call(.get, path, nil, [:]) }
        return pages
    }

    @Test(.service) func `Every page is complete and may load only its own files`() async throws {
        let pages = try await Self.pages(server)
        #expect(pages.count == 8)
        for (path, page) in pages {
            #expect(page.status == 200, "\(path)")
            #expect(page.fields[.contentType] == "text/html; charset=utf-8")
            #expect(page.fields[.cacheControl] == "public, max-age=300")
            #expect(page.fields[.xContentTypeOptions] == "nosniff")
            let policy = page.fields[.contentSecurityPolicy] ?? ""
            #expect(policy.hasPrefix("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'"))
            #expect(!policy.contains("unsafe") && !policy.contains("http"))
            let scan = PageScan(page.text)
            #expect(scan.faults == [], "\(path)")
            #expect(scan.elements.allSatisfy { $0.attributes["style"] == nil && $0.attributes["onclick"] == nil })
            #expect(scan.elements.filter { $0.name == "script" }.allSatisfy { $0.attributes["src"] != nil })
            #expect(scan.elements.count { $0.name == "h1" } == 1, "\(path)")
        }
    }

    @Test(.service) func `Every link has a target`() async throws {
        let pages = try await Self.pages(server).mapValues { PageScan($0.text) }
        var asked: Set<String> = []
        for (path, scan) in pages {
            for address in scan.addresses {
                if address.hasPrefix("http") {
                    // Links may lead there, but no page loads anything from there.
                    let loads = scan.elements.filter { $0.name != "a" }.flatMap(\.attributes.values)
                    #expect(!loads.contains(address), "\(path) loads \(address)")
                    continue
                }
                let parts = address.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let target = parts[0].isEmpty ? path : String(parts[0])
                if parts.count > 1 {
                    let page = try #require(pages[target], "\(path): \(address)")
                    #expect(page.ids.contains(String(parts[1])), "\(path): \(address)")
                }
                guard pages[target] == nil, asked.insert(target).inserted else { continue }
                let reply = try await server.call(.get, target, nil, [:])
                #expect(reply.status == 200 || (target == "/console" && reply.status == 303), "\(path): \(address)")
            }
        }
        #expect(asked.contains("/openapi.json"))
    }

    @Test func `Every operation is listed with its roles and responses`() throws {
        for tag in ["Clients", "Senders", "Admins", "Everyone"] {
            let bytes = try #require(DocsSite.pages["/docs/reference/\(tag.lowercased())"])
            let page = String(decoding: bytes, as: UTF8.self)
            let sections = page.components(separatedBy: "<section class=\"operation\"").dropFirst()
            let operations = APIDocument.embedded.operations(of: tag)
            #expect(sections.count == operations.count && !operations.isEmpty)
            for (section, operation) in zip(sections, operations) {
                #expect(section.contains("id=\"\(operation.id)\""))
                #expect(section.contains("<code>\(operation.path)</code>"))
                for role in operation.roles { #expect(section.contains("<span class=\"badge\">\(role)</span>")) }
                for name in operation.parameters.compactMap({ $0["name"]?.string }) {
                    #expect(section.contains("<dt><code>\(name)</code>"), "\(operation.id): \(name)")
                }
                for (status, _) in operation.responses { #expect(section.contains(">\(status)<"), "\(operation.id)") }
                #expect(section.contains("curl"))
            }
        }
        let documented = ["Clients", "Senders", "Admins", "Everyone"].flatMap(APIDocument.embedded.operations)
        #expect(documented.count == Route.all.count)
    }

    @Test func `Every schema has a section`() throws {
        let page = PageScan(String(decoding: try #require(DocsSite.pages["/docs/reference/schemas"]), as: UTF8.self))
        #expect(APIDocument.embedded.schemas.count > 50)
        for (name, _) in APIDocument.embedded.schemas { #expect(page.ids.contains(name)) }
    }

    @Test func `The page of error codes has one entry for each code`() throws {
        let text = String(decoding: try #require(DocsSite.pages["/docs/error-codes"]), as: UTF8.self)
        let entries = text.components(separatedBy: "<h3 id=\"").dropFirst()
        let names = entries.map { String($0.prefix { $0 != "\"" }) }
        #expect(names.sorted() == Problem.Code.allCases.map(\.rawValue).sorted())
        for entry in entries {
            guard let code = Problem.Code(rawValue: String(entry.prefix { $0 != "\"" })) else { continue }
            let words = entry.components(separatedBy: "</h3>").last?.trimmingCharacters(in: .newlines) ?? ""
            #expect(words.hasPrefix("<p>\(code.status), &quot;\(HTML.escape(code.title))&quot;. "), "\(code)")
            #expect(words.count > 120, "\(code)")
        }
    }

    @Test func `No page contains Markdown`() {
        for (path, page) in DocsSite.pages {
            let text = String(decoding: page, as: UTF8.self)
                .replacing(/<pre>.*?<\/pre>/.dotMatchesNewlines(), with: "")
            #expect(!text.contains("**") && !text.contains("`") && !text.contains("]("), "\(path)")
        }
    }

    @Test(.service) func `Files of pages are cached forever, and missing pages get a 404 page`() async throws {
        let style = try await server.call(.get, DocsSite.assets.address + "/docs.css", nil, [:])
        #expect(style.status == 200)
        #expect(style.fields[.contentType] == "text/css; charset=utf-8")
        #expect(style.fields[.cacheControl] == "public, max-age=31536000, immutable")
        let old = try await server.call(.get, "/docs/assets/0/docs.css", nil, [:])
        #expect(old.status == 200)
        #expect(old.fields[.cacheControl] == "no-store")
        #expect(try await server.call(.get, "/docs/assets/0/none.css", nil, [:])["code"] == "no-such-route")
        for path in ["/docs/none", "/docs/reference/none"] {
            let missing = try await server.call(.get, path, nil, [:])
            #expect(missing.status == 404)
            #expect(missing.text.contains("No such page"))
            #expect(missing.fields[.cacheControl] == "no-store")
        }
        let head = try await server.call(.head, "/docs", nil, [:])
        #expect(head.status == 200)
        #expect(head.body.isEmpty)
        #expect(try await server.call(.post, "/docs", nil, [:]).status == 405)
    }
}

@Suite struct WebAssetsTests {
    private static let folder = ProjectFiles.root.appendingPathComponent("Sources/WebAssets")

    @Test func `The program contains every file unchanged`() throws {
        let paths = try ["Console", "Docs", "Shared"].flatMap { name in
            try FileManager.default.contentsOfDirectory(atPath: Self.folder.appendingPathComponent(name).path)
                .map { "\(name)/\($0)" }
        }
        let others = ["Documentation.docc/ErrorCodes.md", "openapi.json"]
        #expect(WebAssets.files.keys.sorted() == (paths + others).sorted())
        for (path, bytes) in WebAssets.files {
            #expect(try Data(contentsOf: Self.folder.appendingPathComponent(path)) == Data(bytes), "\(path)")
        }
    }
}

/// The elements of an HTML page, scalar by scalar as browsers read it. Strict: every element must be closed.
struct PageScan {
    struct Element {
        let name: String
        let attributes: [String: String]
    }

    private(set) var elements: [Element] = []
    private(set) var faults: [String] = []
    private var open: [String] = []
    private static var tag: Regex<(Substring, Substring, Substring, Substring)> {
        /([a-z][a-z0-9]*)((?:\s+[a-zA-Z0-9-]+(?:="[^"<]*")?)*)\s*(\/?)/.matchingSemantics(.unicodeScalar)
    }
    private static var attribute: Regex<(Substring, Substring, Substring?)> {
        /([a-zA-Z0-9-]+)(?:="([^"]*)")?/.matchingSemantics(.unicodeScalar)
    }

    init(_ text: String) {
        var rest = text.unicodeScalars[...]
        while let start = rest.firstIndex(of: "<") {
            check(text: Substring(rest[..<start]))
            rest = rest[start...].dropFirst()
            guard let end = rest.firstIndex(of: ">") else {
                faults.append("a tag has no end: \(rest.prefix(40))")
                return
            }
            take(tag: Substring(rest[..<end]))
            rest = rest[rest.index(after: end)...]
        }
        faults += open.map { "<\($0)> is not closed" }
        let ids = elements.compactMap { $0.attributes["id"] }
        faults += Dictionary(grouping: ids) { $0 }.filter { $1.count > 1 }.map { "the id \($0.key) is there twice" }
    }

    private mutating func check(text: Substring) {
        if text.unicodeScalars.contains(">") { faults.append("a > stands alone: \(text.suffix(40))") }
        let ampersand = /&(?!(?:amp|lt|gt|quot|#39);)/.matchingSemantics(.unicodeScalar)
        for match in text.matches(of: ampersand) {
            faults.append("an & stands alone: \(text[match.range.lowerBound...].prefix(20))")
        }
    }

    private mutating func take(tag: Substring) {
        if tag.hasPrefix("!") { return }
        if tag.hasPrefix("/") {
            let name = String(tag.dropFirst())
            if open.last == name {
                open.removeLast()
            } else {
                faults.append("</\(name)> closes \(open.last ?? "nothing")")
            }
            return
        }
        guard let match = tag.wholeMatch(of: Self.tag) else {
            faults.append("this is no tag: <\(tag.prefix(60))>")
            return
        }
        let name = String(match.1)
        let pairs = match.2.matches(of: Self.attribute).map { (String($0.1), String($0.2 ?? "")) }
        elements.append(Element(name: name, attributes: Dictionary(pairs) { first, _ in first }))
        let isVoid = ["meta", "link", "img", "hr", "br", "input", "wbr"].contains(name)
        if !isVoid, match.3.isEmpty { open.append(name) }
    }

    var addresses: [String] { elements.flatMap { [$0.attributes["href"], $0.attributes["src"]] }.compactMap(\.self) }
    var ids: Set<String> { Set(elements.compactMap { $0.attributes["id"] }) }
}
