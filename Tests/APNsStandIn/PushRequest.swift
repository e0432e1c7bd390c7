import Foundation

/// A request to APNs, whatever carried it.
package struct PushRequest: Sendable {
    package let method: String
    package let path: String
    /// The fields by their names in lower case.
    package let fields: [String: String]
    package let body: Data

    package init(method: String = "POST", path: String, fields: [String: String], body: Data) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
    }

    /// The hex of the token that it is for; nil when the path is another one.
    var token: String? { path.hasPrefix("/3/device/") ? String(path.dropFirst("/3/device/".count)).lowercased() : nil }

    var priority: Int { fields["apns-priority"].flatMap { Int($0) } ?? 10 }

    /// The time until which APNs keeps it for a phone that is offline: 0 is not at all, and without one about a month.
    var expiration: Date {
        guard let seconds = fields["apns-expiration"].flatMap({ Double($0) }) else { return .distantFuture }
        return Date(timeIntervalSince1970: seconds)
    }
}

/// The answer of APNs.
package struct PushResponse: Sendable, Equatable {
    package let status: Int
    package let reason: String?
    /// The time of death that a 410 says.
    package let deadAt: Date?

    package init(_ status: Int, _ reason: String? = nil, deadAt: Date? = nil) {
        self.status = status
        self.reason = reason
        self.deadAt = deadAt
    }

    /// The time of death in milliseconds, as in a 410's body.
    package var timestamp: Int? { deadAt.map { Int(($0.timeIntervalSince1970 * 1000).rounded(.down)) } }

    /// The body: empty for a 200.
    var body: String {
        guard let reason else { return "" }
        return #"{"reason":"\#(reason)""# + (timestamp.map { #","timestamp":\#($0)}"# } ?? "}")
    }
}
