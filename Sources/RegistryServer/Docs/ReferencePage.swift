import RegistryCore

/// A page of the API reference, made of `openapi.json`.
struct ReferencePage: Sendable {
    let path: String
    let title: String
    /// Its name in the navigation.
    let label: String
    let summary: String
    let template: String
    let fields: TemplateContext

    static let all = [overview] + groups + [schemas]

    /// Where every schema that has a name has a section.
    static let schemasPath = "/docs/reference/schemas"

    private static let document = APIDocument.embedded

    /// The page about what all calls have in common, with a list of them.
    private static let overview = ReferencePage(
        path: "/docs/reference",
        title: "API reference",
        label: "All calls",
        summary: "Who may call, what all calls have in common, and a list of them.",
        template: "docs-reference",
        fields: [
            "words": .text(Prose.paragraphs(document.json["info"]?["description"]?.string ?? "")),
            "tags": .rows(
                tags.map { name, words in
                    [
                        "tag": .text(name), "tagPath": .text(path(of: name)), "tagWords": .text(words),
                        "operations": .rows(document.operations(of: name).map(\.heading)),
                    ]
                }
            ),
        ]
    )

    /// A page for each group of callers.
    private static let groups = tags.map { name, words in
        let operations = document.operations(of: name)
        return ReferencePage(
            path: path(of: name),
            title: "Reference: \(name)",
            label: name,
            summary: words,
            template: "docs-operations",
            fields: [
                "tag": .text(name), "tagWords": .text(words), "operations": .rows(operations.map(\.fields)),
                "contents": .rows(
                    operations.map { ["anchor": .text($0.id), "entry": .text($0.summary)] }
                ),
            ]
        )
    }

    /// Every schema that has a name.
    private static let schemas = ReferencePage(
        path: schemasPath,
        title: "Reference: schemas",
        label: "Schemas",
        summary: "What is sent and answered, member by member.",
        template: "docs-schemas",
        fields: [
            "schemas": .rows(document.schemas.map(section)),
            "contents": .rows(document.schemas.map { ["anchor": .text($0.key), "entry": .text($0.key)] }),
        ]
    )

    private static var tags: [(name: String, words: String)] {
        (document.json["tags"]?.list ?? []).compactMap { tag in
            tag["name"]?.string.map { ($0, tag["description"]?.string ?? "") }
        }
    }

    private static func path(of tag: String) -> String { "/docs/reference/\(tag.lowercased())" }

    private static func section(_ schema: JSONObject.Member) -> TemplateContext {
        let words = SchemaDescription(document: document)
        let limits = words.limits(schema.value)
        return [
            "schema": .text(schema.key), "schemaType": .text(words.type(schema.value)),
            "schemaLimits": .optional(limits.isEmpty ? nil : limits),
            "schemaWords": .text(Prose.paragraphs(schema.value["description"]?.string ?? "")),
            "members": .list(words.members(of: schema.value)),
            "example": .text(JSONLayout.text(SchemaExample(document: document).value(schema.value))),
        ]
    }
}
