import Foundation

/// A value that is read from one JSON value, such as `json.required("jwt", JSONObject.read)`.
package protocol JSONDecodable {
    /// - Throws: The rule for the value, such as "must be a string".
    static func read(_ json: JSONValue) throws(JSONFaultReason) -> Self
}

extension JSONObject: JSONDecodable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> JSONObject { try JSONReader.object(json) }
}

extension String: JSONDecodable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> String { try JSONReader.string(json) }
}

extension Date: JSONDecodable {
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Date { try JSONReader.timestamp(json) }
}

extension Duration: JSONDecodable {
    /// An ISO 8601 duration without months and years.
    package static func read(_ json: JSONValue) throws(JSONFaultReason) -> Duration { try JSONReader.duration(json) }
}
