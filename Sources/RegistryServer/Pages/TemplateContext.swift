/// The fields of a page. Templates also read the properties of a field's value, as in `{{app.bundleID}}`.
struct TemplateContext: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var fields: [String: (any Sendable)?] = [:]

    init(dictionaryLiteral elements: (String, (any Sendable)?)...) {
        for (name, value) in elements { fields[name] = .some(value) }
    }

    mutating func add(_ others: TemplateContext) { fields.merge(others.fields) { $1 } }
}

/// A record with computed properties that templates read. Templates read stored properties of every record.
protocol Presentable {
    /// By name.
    typealias Properties = [String: PartialKeyPath<Self>]

    static var computed: Properties { get }
}

extension Presentable {
    func computed(_ name: String) -> Any? { Self.computed[name].map { self[keyPath: $0] } }
}
