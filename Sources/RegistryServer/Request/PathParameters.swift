/// The values in the places of a template's braces. They are so few that to look through them costs less than to hash them.
struct PathParameters: Sendable {
    private var pairs: [(name: String, value: String)] = []

    /// The value in the place of a name, of which a template has no two.
    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    mutating func append(_ name: String, _ value: String) { pairs.append((name, value)) }
}
