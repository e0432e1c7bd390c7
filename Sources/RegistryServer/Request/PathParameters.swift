/// The values of a template's braces. A scan of so few costs less than hashing.
struct PathParameters: Sendable {
    private var pairs: [(name: String, value: String)] = []

    /// Names are unique in a template.
    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    mutating func append(_ name: String, _ value: String) { pairs.append((name, value)) }
}
