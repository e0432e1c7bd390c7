import Foundation
import RegistryCore

/// A request to APNs, independent of its transport.
package struct PushRequest: Sendable {
    package let method: String
    package let path: String
    /// Header fields by lower-case name.
    package let fields: [String: String]
    package let body: Data

    package init(method: String = "POST", path: String, fields: [String: String], body: Data) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
    }

    /// The token in hex; nil for another path.
    var token: String? { path.hasPrefix("/3/device/") ? String(path.dropFirst("/3/device/".count)).lowercased() : nil }

    /// The payload's member `aps`, a JSON object.
    var aps: JSONValue? {
        guard let aps = try? JSONParser.parse(body)["aps"], case .object = aps else { return nil }
        return aps
    }

    var priority: Int { fields["apns-priority"].flatMap { Int($0) } ?? 10 }

    /// APNs stores a push for an offline phone until then: 0 means not at all, no field about a month.
    var expiration: Date {
        guard let seconds = fields["apns-expiration"].flatMap({ Double($0) }) else { return .distantFuture }
        return Date(timeIntervalSince1970: seconds)
    }
}

package struct PushResponse: Sendable, Equatable {
    package let status: Int
    package let reason: String?
    /// The time of death in a 410 response.
    package let deadAt: Date?

    package init(_ status: Int, _ reason: String? = nil, deadAt: Date? = nil) {
        self.status = status
        self.reason = reason
        self.deadAt = deadAt
    }

    /// In milliseconds, as in a 410 response's body.
    package var timestamp: Int? { deadAt.map { Int(($0.timeIntervalSince1970 * 1000).rounded(.down)) } }

    var body: String {
        guard let reason else { return "" }
        return #"{"reason":"\#(reason)""# + (timestamp.map { #","timestamp":\#($0)}"# } ?? "}")
    }
}
