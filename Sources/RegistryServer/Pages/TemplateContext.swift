import Mustache
import RegistryCore

/// The fields that fill a template: texts, flags, and rows of more fields.
///
/// A field that is nil is not there, so that `{{#name}}` asks whether there is such a thing. A name that a row lacks is
/// looked for in what is around it: rows have names that pages do not have.
struct TemplateContext: MustacheParent, Sendable, ExpressibleByDictionaryLiteral {
    /// One thing that a template may show.
    enum Content: Sendable {
        case text(String)
        case flag(Bool)
        case row(TemplateContext)
        case rows([TemplateContext])
    }

    private var values: [String: Content] = [:]

    init() {}

    init(dictionaryLiteral elements: (String, Content?)...) {
        for (name, value) in elements { self[name] = value }
    }

    subscript(name: String) -> Content? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Adds other fields, which take the place of those of the same names.
    mutating func add(_ others: TemplateContext) { values.merge(others.values) { $1 } }

    /// The value that Mustache shows. `hasRows` asks whether there is something called `rows`.
    func child(named name: String) -> Any? {
        switch values[name] {
        case .text(let text): text
        case .flag(let isTrue): isTrue
        case .row(let fields): fields
        case .rows(let rows): rows
        case nil: name.hasPrefix("has") ? asksFor(name.dropFirst(3)) : nil
        }
    }

    /// Nil and not false, so that what is around this is asked, too.
    private func asksFor(_ name: Substring) -> Bool? {
        values[name.prefix(1).lowercased() + name.dropFirst()] == nil ? nil : true
    }
}

extension TemplateContext.Content: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByBooleanLiteral
{
    init(stringLiteral text: String) { self = .text(text) }
    init(booleanLiteral isTrue: Bool) { self = .flag(isTrue) }

    /// A text, where there is one.
    static func optional(_ text: String?) -> Self? { text.map { .text($0) } }
    /// A text that callers named, where there is one.
    static func optional(_ text: UTF8Text?) -> Self? { text.map { .text($0.string) } }
    /// A row, where there is one.
    static func optional(_ fields: TemplateContext?) -> Self? { fields.map { .row($0) } }
    /// Rows, where there are any: `{{#name}}` then asks for them, too.
    static func list(_ rows: [TemplateContext]) -> Self? { rows.isEmpty ? nil : .rows(rows) }
}
