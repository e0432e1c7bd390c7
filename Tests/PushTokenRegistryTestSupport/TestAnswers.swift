import Foundation
import PushTokenRegistry

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An HTTP response as a value.
package struct TransportResponse: Sendable {
    package let status: Int
    package let fields: [String: String]
    package let body: Data

    package init(status: Int, fields: [String: String], body: Data) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    package subscript(name: String) -> String? { fields.first { $0.key.lowercased() == name.lowercased() }?.value }

    /// The response as the client receives it.
    package var result: TransportResult {
        let url = URL(fileURLWithPath: "/")
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields)
        return response.map { .response($0, body) } ?? .noResponse
    }
}

extension TransportResult {
    package var answer: TransportResponse? {
        guard case .response(let response, let body) = self else { return nil }
        let fields = response.allHeaderFields.map { ("\($0.key)", "\($0.value)") }
        return TransportResponse(status: response.statusCode, fields: Dictionary(fields) { $1 }, body: body)
    }
}

extension TransportResponse {
    /// A response of the registry.
    package static func ours(_ status: Int, _ body: String = "", fields: [String: String] = [:]) -> TransportResponse {
        let ours = ["Request-Id": "r-1", "Content-Type": "application/json"].merging(fields) { $1 }
        return TransportResponse(status: status, fields: ours, body: Data(body.utf8))
    }

    package static let registered = ours(200, #"{"activityId": "a-1", "outcome": "registered", "state": "active"}"#)

    package static func problem(_ status: Int, _ code: String, serverTime: Timestamp? = nil) -> TransportResponse {
        let time = serverTime.map { #", "serverTime": "\#($0.text)""# } ?? ""
        return ours(status, #"{"status": \#(status), "code": "\#(code)", "detail": "Because."\#(time)}"#)
    }
}
