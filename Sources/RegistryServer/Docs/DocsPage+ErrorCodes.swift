import RegistryCore
import WebAssets

extension DocsPage {
    static var errorCodes: DocsPage {
        DocsPage(
            path: "/docs/error-codes",
            title: "Error codes",
            summary: "The meaning and the remedy of each error code.",
            template: "docs-errors",
            fields: ["groups": .rows(groupsOfCodes)],
            contents: Problem.Code.allCases.map { ($0.rawValue, $0.rawValue) }
        )
    }

    private static var groupsOfCodes: [TemplateContext] {
        // Keeps only the text of links, which lead to files of the repository.
        let guide = String(decoding: WebAssets.errorCodes, as: UTF8.self).replacing(/\[([^\]]+)\]\([^)]+\)/) { $0.1 }
        return guide.split(separator: "\n## ").compactMap { group in
            let parts = group.split(separator: "\n### ").map(section)
            guard let (title, words) = parts.first, parts.count > 1 else { return nil }
            let codes: [TemplateContext] = parts.dropFirst().map { ["code": .text($0), "codeWords": .text($1)] }
            return ["group": .text(title), "groupWords": .text(words), "codes": .rows(codes)]
        }
    }

    private static func section(_ text: Substring) -> (title: String, words: String) {
        let title = text.prefix { $0 != "\n" }
        return (String(title), Prose.paragraphs(String(text.dropFirst(title.count).drop { $0 == "\n" })))
    }
}
