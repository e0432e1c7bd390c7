/// A JSON value that was read or is to be written.
///
/// Strings and keys compare by UTF-8 bytes, as in RFC 8259, and not by canonical equivalence as `String` does.
/// `.integer` and `.number` are never equal, even if their canonical form is.
package enum JSONValue: Sendable, Hashable, JSONEncodable, CustomStringConvertible {
    case null
    case bool(Bool)
    /// Without fraction and exponent, and in the range of `Int64`.
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): UTF8Text(left) == UTF8Text(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.integer, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let text): hasher.combine(UTF8Text(text))
        case .array(let elements): hasher.combine(elements)
        case .object(let object): hasher.combine(object)
        }
    }

    package subscript(key: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[key]
    }

    package var isNull: Bool {
        guard case .null = self else { return false }
        return true
    }

    /// UTF-8 with keys in byte order at every level, no spaces, and only required escapes.
    ///
    /// Equal values have equal bytes. Numbers are written as in `JSONWriter`, except that whole numbers in the range of
    /// `Int64` become integers, because Postgres's `jsonb` writes `1e18` in nineteen digits.
    package var canonicalBytes: [UInt8] {
        var json = JSONWriter()
        write(to: &json, isCanonical: true)
        return json.bytes
    }

    package func encode(to json: inout JSONWriter) { write(to: &json, isCanonical: false) }

    private func write(to json: inout JSONWriter, isCanonical: Bool) {
        switch self {
        case .null: json.null()
        case .bool(let value): json.bool(value)
        case .integer(let value): json.integer(value)
        case .number(let value):
            if isCanonical, let integer = Int64(exactly: value) { json.integer(integer) } else { json.double(value) }
        case .string(let text): json.string(text)
        case .array(let elements):
            json.array { json in
                for element in elements { element.write(to: &json, isCanonical: isCanonical) }
            }
        case .object(let object):
            json.object { json in
                for member in isCanonical ? object.sortedMembers : object.members {
                    json.key(member.key)
                    member.value.write(to: &json, isCanonical: isCanonical)
                }
            }
        }
    }

    package var description: String { String(decoding: canonicalBytes, as: UTF8.self) }
    package var string: String? { if case .string(let text) = self { text } else { nil } }
}

// `["kind": "value", "count": 3]` for a `JSONValue` or `JSONObject` in tests and documents.

// `nil` is not a literal of `JSONValue`, because it would be ambiguous for a `JSONValue?`. Use `.null`.

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// The last value of a key wins.
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}
