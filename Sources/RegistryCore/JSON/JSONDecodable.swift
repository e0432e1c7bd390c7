import Foundation

/// A value that is read from one JSON value, such as `json.required("jwt", JSONObject.read)`.
package protocol JSONDecodable {
    /// - Throws: The rule for the value, such as "must be a string".
    static func read(_ json: JSONValue) throws(JSONFaultReason) -> Self
}

extension String: JSONDecodable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> String {
        guard case .string(let text) = json else { throw JSONFaultReason("must be a string") }
        return text
    }
}

extension Bool: JSONDecodable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Bool {
        guard case .bool(let bool) = json else { throw JSONFaultReason("must be true or false") }
        return bool
    }
}

extension Int: JSONDecodable {
    /// `5.0` and `1e3` are integers, too.
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Int {
        let integer: Int? =
            switch json {
            case .integer(let integer): Int(exactly: integer)
            case .number(let number): Int(exactly: number)
            case .null, .bool, .string, .array, .object: nil
            }
        guard let integer else { throw JSONFaultReason("must be an integer") }
        return integer
    }
}

extension Date: JSONDecodable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Date {
        guard case .string(let text) = json, let date = RFC3339.parse(text) else {
            throw JSONFaultReason("must be an RFC 3339 time such as 2026-03-01T12:00:00.000Z")
        }
        return date
    }
}

extension Duration: JSONDecodable {
    /// An ISO 8601 duration without months and years.
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Duration {
        guard case .string(let text) = json, let duration = ISO8601Duration.parse(text) else {
            throw JSONFaultReason("must be an ISO 8601 duration such as PT8H or P7D, without months and years")
        }
        return duration
    }
}

extension [JSONValue]: JSONDecodable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> [JSONValue] {
        guard case .array(let elements) = json else { throw JSONFaultReason("must be an array") }
        return elements
    }
}

extension JSONObject: JSONDecodable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> JSONObject {
        guard case .object(let object) = json else { throw JSONFaultReason("must be an object") }
        return object
    }
}
