import Foundation

/// A value that is read from one JSON value: `json.required("jwt", JSONObject.read)`.
public protocol JSONDecodable {
    /// Reads the value.
    ///
    /// - Throws: what the value must be: "must be a string".
    static func read(_ json: JSONValue) throws(JSONFaultReason) -> Self
}

extension JSONObject: JSONDecodable {
    /// Reads an object.
    public static func read(_ json: JSONValue) throws(JSONFaultReason) -> JSONObject { try JSONReader.object(json) }
}

extension String: JSONDecodable {
    /// Reads a string.
    public static func read(_ json: JSONValue) throws(JSONFaultReason) -> String { try JSONReader.string(json) }
}

extension Bool: JSONDecodable {
    /// Reads `true` or `false`.
    public static func read(_ json: JSONValue) throws(JSONFaultReason) -> Bool { try JSONReader.bool(json) }
}

extension Int: JSONDecodable {
    /// Reads an integer; a number such as `5.0` or `1e3` is one too.
    public static func read(_ json: JSONValue) throws(JSONFaultReason) -> Int { try JSONReader.integer(json) }
}

extension Double: JSONDecodable {
    /// Reads a number.
    public static func read(_ json: JSONValue) throws(JSONFaultReason) -> Double { try JSONReader.number(json) }
}

extension Date: JSONDecodable {
    /// Reads a string that is an RFC 3339 time.
    public static func read(_ json: JSONValue) throws(JSONFaultReason) -> Date { try JSONReader.timestamp(json) }
}

extension Duration: JSONDecodable {
    /// Reads a string that is an ISO 8601 duration without months and years.
    public static func read(_ json: JSONValue) throws(JSONFaultReason) -> Duration { try JSONReader.duration(json) }
}
