// So that tests and documents say `["kind": "value", "count": 3]` where a `JSONValue` or `JSONObject` is wanted.

// `null` has no literal on purpose: `nil` would be either this or an absent optional, and the compiler would choose.

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Makes a boolean.
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Makes an integer.
    package init(integerLiteral value: Int64) { self = .integer(value) }
    /// Makes a number.
    package init(floatLiteral value: Double) { self = .number(value) }
    /// Makes a string.
    package init(stringLiteral value: String) { self = .string(value) }
    /// Makes an array.
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Makes an object; the last of several members with one key wins.
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Makes an object; the last of several members with one key wins.
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}
