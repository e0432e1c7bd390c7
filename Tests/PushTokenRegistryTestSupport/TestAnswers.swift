import Foundation
import PushTokenRegistry

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
