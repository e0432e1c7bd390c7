import Foundation
import HTTPTypes
import RegistryCore
import WebAssets

/// Rendered at the first request.
enum DocsSite {
    static let pages: [String: [UInt8]] = {
        let index = DocsPage(
            path: "/docs",
            title: "Documentation",
            summary: "Push-token-registry keeps, for every running Live Activity, the one push token that works now.",
            template: "docs-index"
        )
        return Dictionary(uniqueKeysWithValues: ([index] + listed).map { ($0.path, render($0)) })
    }()

    static let missing = render(
        DocsPage(path: "", title: "No such page", summary: "This address has no page.", template: "docs-layout")
    )

    static let assets = PageAssets(below: "/docs/assets", WebAssets.docsFiles)

    private static let listed = DocsPage.reference + [.errorCodes]

    private static let templates = PageTemplates(WebAssets.docsTemplates)

    private static func render(_ page: DocsPage) -> [UInt8] {
        let pages = listed.map { (title: $0.title, path: $0.path, about: $0.summary, isHere: $0.path == page.path) }
        let about = "The API for programs, in OpenAPI 3.1."
        var fields: TemplateContext = [
            "pageTitle": page.title, "lead": page.summary, "assets": assets.address,
            "pages": pages + [(title: "openapi.json", path: "/openapi.json", about: about, isHere: false)],
            "contents": page.contents,
        ]
        fields.add(page.fields)
        return templates.render(page.template, fields, now: Date())
    }
}

extension Route {
    /// For browsers, and not part of the API in `openapi.json`.
    static var docs: [Route] {
        let pages = ["/docs", "/docs/{page}", "/docs/reference/{page}"].map { path in
            plain(.get, path, for: .everyone) { .docs(path.replacing("{page}", with: $0.parameter("page"))) }
        }
        let assets = plain(.get, "/docs/assets/{version}/{name}", for: .everyone) {
            try DocsSite.assets.response($0.parameter("name"), version: $0.parameter("version"))
        }
        return pages + [assets]
    }
}

extension Response {
    static func docs(_ path: String) -> Response {
        guard let page = DocsSite.pages[path] else {
            return .html(DocsSite.missing, status: .notFound, formsTo: "'none'")
        }
        var response = Response.html(page, formsTo: "'none'")
        response.fields[.cacheControl] = "public, max-age=300"
        return response
    }
}

struct DocsPage: Sendable {
    let path: String
    let title: String
    let summary: String
    let template: String
    var fields: TemplateContext = [:]
    var contents: [(id: String, name: String)] = []

    static let reference = [calls] + groups + [schemas]

    static let schemasPath = "/docs/reference/schemas"

    private static let document = APIDocument.embedded

    private static var calls: DocsPage {
        let tags = document.tags.map { name, words in
            (name: name, tagPath: path(of: name), words: words, operations: document.operations(of: name).map(\.fields))
        }
        let words = document.json["info"]?.text("description") ?? ""
        return DocsPage(
            path: "/docs/reference",
            title: "API reference",
            summary: "All calls and their shared rules.",
            template: "docs-reference",
            fields: ["words": Prose.paragraphs(words), "tags": tags],
            contents: document.tags.map { ($0.name, $0.name) } + [("shared-rules", "Shared rules")]
        )
    }

    private static var groups: [DocsPage] {
        document.tags.map { name, words in
            let operations = document.operations(of: name)
            return DocsPage(
                path: path(of: name),
                title: name,
                summary: words,
                template: "docs-operations",
                fields: ["operations": operations.map(\.fields)],
                contents: operations.map { ($0.id, $0.json.text("summary")) }
            )
        }
    }

    private static var schemas: DocsPage {
        DocsPage(
            path: schemasPath,
            title: "Schemas",
            summary: "The members of requests and responses. Unknown members are ignored; null counts as absent.",
            template: "docs-schemas",
            fields: ["schemas": document.schemas.map { section($0) }],
            contents: document.schemas.map { ($0.key, $0.key) }
        )
    }

    private static func path(of tag: String) -> String { "/docs/reference/\(tag.lowercased())" }

    private static func section(_ schema: JSONObject.Member) -> TemplateContext {
        [
            "schema": schema.key, "schemaType": document.type(schema.value),
            "schemaWords": Prose.paragraphs(schema.value.text("description")),
            "members": document.members(of: schema.value),
            "example": JSONLayout.text(document.exampleValue(schema.value)),
        ]
    }

    static var errorCodes: DocsPage {
        DocsPage(
            path: "/docs/error-codes",
            title: "Error codes",
            summary: "The meaning and the remedy of each error code.",
            template: "docs-errors",
            fields: ["groups": groupsOfCodes],
            contents: Problem.Code.allCases.map { ($0.rawValue, $0.rawValue) }
        )
    }

    private typealias Section = (title: String, words: String)

    private static var groupsOfCodes: [(title: String, words: String, codes: [Section])] {
        // Keeps only the text of links, which lead to files of the repository.
        let guide = String(decoding: WebAssets.errorCodes, as: UTF8.self).replacing(/\[([^\]]+)\]\([^)]+\)/) { $0.1 }
        return guide.split(separator: "\n## ").compactMap { group in
            let parts = group.split(separator: "\n### ").map(section)
            guard let (title, words) = parts.first, parts.count > 1 else { return nil }
            return (title: title, words: words, codes: Array(parts.dropFirst()))
        }
    }

    private static func section(_ text: Substring) -> Section {
        let title = text.prefix { $0 != "\n" }
        return (String(title), Prose.paragraphs(String(text.dropFirst(title.count).drop { $0 == "\n" })))
    }
}

/// Converts the Markdown of `openapi.json` and of the guide to errors: paragraphs, lists, `code` and **emphasis**.
enum Prose {
    static func paragraphs(_ text: String) -> String {
        text.split(separator: "\n\n").map { block in
            guard block.hasPrefix("- ") else { return "<p>\(line(block))</p>" }
            let items = block.dropFirst(2).split(separator: "\n- ").map { "<li>\(line($0))</li>" }
            return "<ul>\n\(items.joined(separator: "\n"))\n</ul>"
        }.joined(separator: "\n")
    }

    /// Links error codes to their descriptions.
    static func line(_ text: some StringProtocol) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0 % 2 == 1 ? code($1) : emphasised($1) }.joined()
    }

    private static func code(_ text: some StringProtocol) -> String {
        let code = "<code>\(HTML.escape(text))</code>"
        guard Problem.Code(rawValue: String(text)) != nil else { return code }
        return "<a href=\"/docs/error-codes#\(text)\">\(code)</a>"
    }

    private static func emphasised(_ text: some StringProtocol) -> String {
        let parts = String(text).split(separator: /\*\*/, omittingEmptySubsequences: false)
        return parts.enumerated()
            .map { $0 % 2 == 1 ? "<strong>\(HTML.escape($1))</strong>" : HTML.escape($1) }.joined()
    }
}

/// JSON for people: a value that fits on a line stays on it. `openapi.json` has this layout, too.
enum JSONLayout {
    /// - Parameter used: Columns of the first line taken by indent, key and comma.
    static func text(_ value: JSONValue, width: Int = 72, indent: String = "", used: Int = 0) -> String {
        let (marks, rows): ([String], [(key: String, value: JSONValue)])
        switch value {
        case .array(let elements) where !elements.isEmpty: (marks, rows) = (["[", "]"], elements.map { ("", $0) })
        case .object(let object) where !object.isEmpty:
            (marks, rows) = (["{ ", " }"], object.map { ("\(JSONValue.string($0.key)): ", $0.value) })
        default: return value.description
        }
        let short = marks[0] + rows.map { $0.key + text($0.value, width: .max) }.joined(separator: ", ") + marks[1]
        if used + short.unicodeScalars.count <= width { return short }
        let inner = indent + "  "
        let lines = rows.enumerated().map { index, row in
            let used = inner.count + row.key.unicodeScalars.count + (index < rows.count - 1 ? 1 : 0)
            return inner + row.key + text(row.value, width: width, indent: inner, used: used)
        }
        return "\(short.prefix(1))\n" + lines.joined(separator: ",\n") + "\n\(indent)\(short.suffix(1))"
    }
}
