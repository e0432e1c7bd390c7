import Mustache
import RegistryCore

/// The fields of a template: texts, flags, and rows of fields.
///
/// Nil fields are absent, so `{{#name}}` tests for presence. Mustache looks up absent names in the enclosing context,
/// so rows must not reuse names of pages.
struct TemplateContext: MustacheParent, Sendable, ExpressibleByDictionaryLiteral {
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

    mutating func add(_ others: TemplateContext) { values.merge(others.values) { $1 } }

    /// `hasRows` tests for a field `rows`.
    func child(named name: String) -> Any? {
        switch values[name] {
        case .text(let text): text
        case .flag(let isTrue): isTrue
        case .row(let fields): fields
        case .rows(let rows): rows
        case nil: name.hasPrefix("has") ? asksFor(name.dropFirst(3)) : nil
        }
    }

    /// Nil in place of false, so that Mustache searches the enclosing context.
    private func asksFor(_ name: Substring) -> Bool? {
        values[name.prefix(1).lowercased() + name.dropFirst()] == nil ? nil : true
    }
}

extension TemplateContext.Content: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByBooleanLiteral
{
    init(stringLiteral text: String) { self = .text(text) }
    init(booleanLiteral isTrue: Bool) { self = .flag(isTrue) }
    static func optional(_ text: String?) -> Self? { text.map { .text($0) } }
    static func optional(_ text: UTF8Text?) -> Self? { text.map { .text($0.string) } }
    static func optional(_ fields: TemplateContext?) -> Self? { fields.map { .row($0) } }
    /// Nil if empty, so that `{{#name}}` tests for rows.
    static func list(_ rows: [TemplateContext]) -> Self? { rows.isEmpty ? nil : .rows(rows) }
}
