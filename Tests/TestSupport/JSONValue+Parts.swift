import RegistryCore

extension JSONValue {
    /// The elements of an array; none of another value.
    package var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    package subscript(_ index: Int) -> JSONValue { elements.indices.contains(index) ? elements[index] : .null }

    /// The member of each element; null where it is missing.
    package func all(_ key: String) -> [JSONValue] { elements.map { $0[key] ?? .null } }
    package static func token(_ number: Int) -> JSONValue { .string(PushToken.sample(number).hexadecimal) }
    package static func minutesAgo(_ minutes: Double) -> JSONValue { .string(RFC3339.format(.minutesAgo(minutes))) }
}

extension PushToken { package var hexadecimal: String { Hexadecimal.encode(bytes) } }
