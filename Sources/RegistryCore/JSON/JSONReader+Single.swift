import Foundation

// Readers of single values, as closures for `required`, `optional` and `array`, or on their own.
extension JSONReader {
    package static func string(_ value: JSONValue) throws(JSONFaultReason) -> String {
        guard case .string(let text) = value else { throw JSONFaultReason("must be a string") }
        return text
    }

    package static func bool(_ value: JSONValue) throws(JSONFaultReason) -> Bool {
        guard case .bool(let bool) = value else { throw JSONFaultReason("must be true or false") }
        return bool
    }

    /// `5.0` and `1e3` are integers, too.
    package static func integer(_ value: JSONValue) throws(JSONFaultReason) -> Int {
        let integer: Int? =
            switch value {
            case .integer(let integer): Int(exactly: integer)
            case .number(let number): Int(exactly: number)
            case .null, .bool, .string, .array, .object: nil
            }
        guard let integer else { throw JSONFaultReason("must be an integer") }
        return integer
    }

    package static func number(_ value: JSONValue) throws(JSONFaultReason) -> Double {
        switch value {
        case .integer(let integer): return Double(integer)
        case .number(let number): return number
        case .null, .bool, .string, .array, .object: throw JSONFaultReason("must be a number")
        }
    }

    package static func timestamp(_ value: JSONValue) throws(JSONFaultReason) -> Date {
        guard case .string(let text) = value, let date = RFC3339.parse(text) else {
            throw JSONFaultReason("must be an RFC 3339 time such as 2026-03-01T12:00:00.000Z")
        }
        return date
    }

    package static func duration(_ value: JSONValue) throws(JSONFaultReason) -> Duration {
        guard case .string(let text) = value, let duration = ISO8601Duration.parse(text) else {
            throw JSONFaultReason("must be an ISO 8601 duration such as PT8H or P7D, without months and years")
        }
        return duration
    }

    package static func array(_ value: JSONValue) throws(JSONFaultReason) -> [JSONValue] {
        guard case .array(let elements) = value else { throw JSONFaultReason("must be an array") }
        return elements
    }

    package static func object(_ value: JSONValue) throws(JSONFaultReason) -> JSONObject {
        guard case .object(let object) = value else { throw JSONFaultReason("must be an object") }
        return object
    }
}
