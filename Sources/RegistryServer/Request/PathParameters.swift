/// The values of a template's parameters. A scan of few pairs is faster than hashing.
struct PathParameters: Sendable {
    private var pairs: [(name: String, value: String)] = []

    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    mutating func append(_ name: String, _ value: String) { pairs.append((name, value)) }
}
