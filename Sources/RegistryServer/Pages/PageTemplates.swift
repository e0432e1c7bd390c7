import Mustache

/// Templates of pages, parsed once; each may include the others by name.
struct PageTemplates: Sendable {
    private let library: MustacheLibrary

    /// - Parameter sources: by name. They are part of the program, and a test renders each.
    init(_ sources: [String: [UInt8]]) {
        MustacheContentTypes.register(EscapedByScalar(), named: "SCALARS")
        var library = MustacheLibrary()
        for (name, bytes) in sources {
            // Each sets its escaping, because the library resets it for every template.
            let text = "{{% CONTENT_TYPE:SCALARS}}" + String(decoding: bytes, as: UTF8.self)
            do {
                try library.register(text, named: name)
            } catch {
                preconditionFailure("the template \(name) cannot be parsed: \(error)")
            }
        }
        self.library = library
    }

    func render(_ name: String, _ fields: TemplateContext) -> String {
        library.render(fields, withTemplate: name) ?? ""
    }
}

private struct EscapedByScalar: MustacheContentType {
    func escapeText(_ text: String) -> String { HTML.escape(text) }
}
