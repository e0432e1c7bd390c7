import Foundation

// The conversions of one value, such as `json.required("jwt", JSONObject.read)`. They throw the rule for the value.

extension String {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> String {
        guard case .string(let text) = json else { throw JSONFaultReason("must be a string") }
        return text
    }
}

extension RawRepresentable<String> where Self: CaseIterable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Self {
        guard let value = json.string.flatMap(Self.init(rawValue:)) else {
            throw JSONFaultReason("must be one of \(allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }
}

extension Bool {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Bool {
        guard case .bool(let bool) = json else { throw JSONFaultReason("must be true or false") }
        return bool
    }
}

extension Int {
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

    package static func within(_ range: ClosedRange<Int>) -> (JSONValue) throws(JSONFaultReason) -> Int {
        { json throws(JSONFaultReason) in
            guard let integer = try? Int.read(json), range.contains(integer) else {
                throw JSONFaultReason("must be an integer from \(range.lowerBound) to \(range.upperBound)")
            }
            return integer
        }
    }
}

extension Date {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Date {
        guard case .string(let text) = json, let date = RFC3339.parse(text) else {
            throw JSONFaultReason("must be an RFC 3339 time such as 2026-03-01T12:00:00.000Z")
        }
        return date
    }
}

extension Duration {
    /// An ISO 8601 duration without months and years.
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Duration {
        guard case .string(let text) = json, let duration = ISO8601Duration.parse(text) else {
            throw JSONFaultReason("must be an ISO 8601 duration such as PT8H or P7D, without months and years")
        }
        return duration
    }

    package static func within(_ range: ClosedRange<Duration>) -> (JSONValue) throws(JSONFaultReason) -> Duration {
        { json throws(JSONFaultReason) in
            let duration = try Duration.read(json)
            guard range.contains(duration) else {
                let limits = [range.lowerBound, range.upperBound].map(ISO8601Duration.format)
                throw JSONFaultReason("must be from \(limits[0]) to \(limits[1])")
            }
            return duration
        }
    }
}

extension [JSONValue] {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> [JSONValue] {
        guard case .array(let elements) = json else { throw JSONFaultReason("must be an array") }
        return elements
    }
}

extension JSONObject {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> JSONObject {
        guard case .object(let object) = json else { throw JSONFaultReason("must be an object") }
        return object
    }
}
