import RegistryCore
import WebAssets

struct DocsPage: Sendable {
    let path: String
    let title: String
    let summary: String
    let template: String
    var fields: TemplateContext = [:]
    var contents: [(id: String, name: String)] = []
}

extension DocsPage {
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
}

extension DocsPage {
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
