import Foundation

/// A value that is read from one JSON value: `json.required("jwt", JSONObject.read)`.
package protocol JSONDecodable {
    /// Reads the value.
    ///
    /// - Throws: what the value must be: "must be a string".
    static func read(_ json: JSONValue) throws(JSONFaultReason) -> Self
}

extension JSONObject: JSONDecodable {
    /// Reads an object.
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> JSONObject { try JSONReader.object(json) }
}

extension String: JSONDecodable {
    /// Reads a string.
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> String { try JSONReader.string(json) }
}

extension Date: JSONDecodable {
    /// Reads a string that is an RFC 3339 time.
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Date { try JSONReader.timestamp(json) }
}

extension Duration: JSONDecodable {
    /// Reads a string that is an ISO 8601 duration without months and years.
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Duration { try JSONReader.duration(json) }
}
