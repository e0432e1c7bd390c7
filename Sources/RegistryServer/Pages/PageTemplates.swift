import Mustache

/// Templates of pages, parsed once; each may use the others by their names.
struct PageTemplates: Sendable {
    private let library: MustacheLibrary

    /// - Parameter sources: the templates, by name. They are part of the program, and every one is rendered by a test.
    init(_ sources: [String: [UInt8]]) {
        MustacheContentTypes.register(EscapedByScalar(), named: "SCALARS")
        var library = MustacheLibrary()
        for (name, bytes) in sources {
            // Each begins with how it escapes, for the library goes back to its own way with every template.
            let text = "{{% CONTENT_TYPE:SCALARS}}" + String(decoding: bytes, as: UTF8.self)
            do {
                try library.register(text, named: name)
            } catch {
                preconditionFailure("the template \(name) cannot be parsed: \(error)")
            }
        }
        self.library = library
    }

    /// A whole page.
    func render(_ name: String, _ fields: TemplateContext) -> String {
        library.render(fields, withTemplate: name) ?? ""
    }
}

private struct EscapedByScalar: MustacheContentType {
    func escapeText(_ text: String) -> String { HTML.escape(text) }
}
