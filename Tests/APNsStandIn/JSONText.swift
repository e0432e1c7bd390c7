import Foundation

/// A payload's value as JSON with sorted keys, so that equal values are equal texts.
struct JSONText: Sendable, Equatable {
    let text: String

    init(_ value: Any) {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .fragmentsAllowed]
        let bytes = (try? JSONSerialization.data(withJSONObject: value, options: options)) ?? Data()
        text = String(decoding: bytes, as: UTF8.self)
    }

    var value: Any? { try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed) }

    /// The members of `aps`; nil unless the payload is a JSON object with `aps`.
    static func aps(of body: Data) -> [String: JSONText]? {
        let payload = (try? JSONSerialization.jsonObject(with: body)) as? [String: Any]
        return (payload?["aps"] as? [String: Any])?.mapValues(JSONText.init)
    }
}

extension Push {
    /// The attribute with the alias of an example app's activity.
    static let aliasAttribute = "alias"
    var timestamp: Int? { payload["timestamp"]?.value as? Int }
    var event: String? { payload["event"]?.value as? String }
    var alias: String? { (payload["attributes"]?.value as? [String: Any])?[Self.aliasAttribute] as? String }
}
