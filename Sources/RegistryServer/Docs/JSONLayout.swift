import RegistryCore

/// JSON for people: what is short stands on one line.
enum JSONLayout {
    private static let width = 72

    static func text(_ value: JSONValue, indent: String = "") -> String {
        let short = line(value)
        if indent.count + short.count <= width { return short }
        let inner = indent + "  "
        switch value {
        case .array(let elements) where !elements.isEmpty:
            return "[\n" + elements.map { inner + text($0, indent: inner) }.joined(separator: ",\n") + "\n\(indent)]"
        case .object(let object) where !object.isEmpty:
            let members = object.map { inner + line(.string($0.key)) + ": " + text($0.value, indent: inner) }
            return "{\n" + members.joined(separator: ",\n") + "\n\(indent)}"
        default: return short
        }
    }

    private static func line(_ value: JSONValue) -> String {
        switch value {
        case .array(let elements): "[" + elements.map(line).joined(separator: ", ") + "]"
        case .object(let object):
            "{" + object.map { line(.string($0.key)) + ": " + line($0.value) }.joined(separator: ", ") + "}"
        default: value.description
        }
    }
}
