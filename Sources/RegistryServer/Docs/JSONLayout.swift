import RegistryCore

/// JSON for people: a value that fits on a line stays on it. `openapi.json` has this layout, too.
enum JSONLayout {
    /// - Parameter used: Columns of the first line taken by indent, key and comma.
    static func text(_ value: JSONValue, width: Int = 72, indent: String = "", used: Int = 0) -> String {
        let short = line(value)
        if used + short.unicodeScalars.count <= width { return short }
        let rows: [(key: String, value: JSONValue)]
        switch value {
        case .array(let elements) where !elements.isEmpty: rows = elements.map { ("", $0) }
        case .object(let object) where !object.isEmpty: rows = object.map { (key($0), $0.value) }
        default: return short
        }
        let inner = indent + "  "
        let lines = rows.enumerated().map { index, row in
            let used = inner.count + row.key.unicodeScalars.count + (index < rows.count - 1 ? 1 : 0)
            return inner + row.key + text(row.value, width: width, indent: inner, used: used)
        }
        return "\(short.prefix(1))\n" + lines.joined(separator: ",\n") + "\n\(indent)\(short.suffix(1))"
    }

    private static func key(_ member: JSONObject.Member) -> String { "\(JSONValue.string(member.key)): " }

    private static func line(_ value: JSONValue) -> String {
        switch value {
        case .array(let elements): "[" + elements.map(line).joined(separator: ", ") + "]"
        case .object(let object) where !object.isEmpty:
            "{ " + object.map { key($0) + line($0.value) }.joined(separator: ", ") + " }"
        default: value.description
        }
    }
}
