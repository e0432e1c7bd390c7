import Foundation

/// The way to the registry; tests put their own in its place.
///
/// ```swift
/// struct Offline: Transport {
///     func send(_ request: TransportRequest) async -> TransportResult { .notSent("offline") }
/// }
/// ```
public protocol Transport: Sendable {
    /// Sends a request once, and waits for its answer within a time of the transport's own.
    func send(_ request: TransportRequest) async -> TransportResult
    /// Gives requests to the system, which sends them while the app sleeps, in the place of all that it was given before (C19).
    ///
    /// They may arrive in any order, twice, or never. By default nothing is given.
    func handOver(_ requests: [TransportRequest]) async
}

extension Transport {
    /// Gives the system nothing.
    public func handOver(_ requests: [TransportRequest]) async {}
}

/// A request as the transport sends it. It holds a token and a credential, and prints neither.
public struct TransportRequest: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `PUT` or `DELETE`.
    public let method: String
    /// The whole address.
    public let url: URL
    /// Header fields by name.
    public let fields: [String: String]
    /// JSON; nil for a `DELETE`.
    public let body: Data?

    package init(method: String, url: URL, fields: [String: String], body: Data?) {
        (self.method, self.url, self.fields, self.body) = (method, url, fields, body)
    }

    /// The method alone: the path names an installation, which is a secret of the device.
    public var description: String { "\(method) request" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// The outcome of sending a request once.
public enum TransportResult: Sendable {
    /// There was an answer, be it of the registry or of a captive portal.
    case answer(TransportAnswer)
    /// No answer came, with the reason in words. The registry may have taken the request.
    case noAnswer(String)
    /// No connection was made, with the reason in words. The registry cannot have taken the request, so its time may still be
    /// corrected; if in doubt, say ``noAnswer(_:)``.
    case notSent(String)
}

/// An answer over HTTP.
public struct TransportAnswer: Sendable {
    /// The status.
    public let status: Int
    /// Header fields by name, in whatever case.
    public let fields: [String: String]
    /// The body.
    public let body: Data

    /// Makes an answer of its parts.
    public init(status: Int, fields: [String: String], body: Data) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// The value of a field, whose name may be in any case.
    package subscript(name: String) -> String? {
        fields.first { $0.key.caseInsensitiveCompare(name) == .orderedSame }?.value
    }
}
