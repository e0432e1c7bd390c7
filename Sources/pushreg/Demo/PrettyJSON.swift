import RegistryCore

/// Writes JSON for the eye: indented, push tokens cut short.
enum PrettyJSON {
    private static let step = "  "

    /// The lines of a value.
    static func lines(_ value: JSONValue) -> [String] {
        text(value, indentation: "").split(separator: "\n").map(String.init)
    }

    /// `5e0c…91ab (80 bytes)` for the hex of a token; other text as it is.
    static func shortened(_ token: String) -> String {
        guard token.utf8.count > 16, let bytes = Hexadecimal.decode(token) else { return token }
        return "\(token.prefix(4))…\(token.suffix(4)) (\(bytes.count) bytes)"
    }

    private static func text(_ value: JSONValue, indentation: String) -> String {
        let inner = indentation + step
        switch value {
        case .object(let object) where !object.isEmpty:
            let members = object.map { "\(JSONValue.string($0)): \(text(shown($1, for: $0), indentation: inner))" }
            return enclose("{", members, "}", indentation)
        case .array(let elements) where !elements.isEmpty:
            return enclose("[", elements.map { text($0, indentation: inner) }, "]", indentation)
        default:
            return value.description
        }
    }

    private static func enclose(_ open: String, _ parts: [String], _ close: String, _ indentation: String) -> String {
        let inner = indentation + step
        return "\(open)\n\(inner)" + parts.joined(separator: ",\n\(inner)") + "\n\(indentation)\(close)"
    }

    private static func shown(_ value: JSONValue, for key: String) -> JSONValue {
        guard key == "token", case .string(let token) = value else { return value }
        return .string(shortened(token))
    }
}
