import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

/// Converts times between the phone's world, some days in the past, and the service's.
///
/// The service uses Postgres's clock. The phone's times stay as they are, except times that its world's registry would
/// refuse as too far ahead: they are moved as far ahead of the real time, so that the real service refuses them.
struct WorldTime: Sendable {
    let now: Timestamp
    private static let mostAhead = Duration.seconds(300)

    func outward(_ request: RecordedRequest) -> RecordedRequest {
        guard let text = request["observedAt"], let time = Timestamp(text: text), time > now + Self.mostAhead else {
            return request
        }
        let shifted = (Timestamp(Date()) + (time - now)).text
        return RecordedRequest(
            method: request.method,
            url: URL(string: request.url.absoluteString.replacing(text, with: shifted))!,
            fields: request.fields,
            body: request.body.map { Data(String(decoding: $0, as: UTF8.self).replacing(text, with: shifted).utf8) }
        )
    }

    /// The response with `Date` and `serverTime` of the phone's world.
    func homeward(_ answer: TransportResponse) -> TransportResponse {
        var fields = answer.fields.filter { $0.key.lowercased() != "date" }
        fields["Date"] = Self.httpDate(now)
        return TransportResponse(status: answer.status, fields: fields, body: homeward(answer.body))
    }

    private func homeward(_ body: Data) -> Data {
        let text = String(decoding: body, as: UTF8.self)
        guard text.contains("\"serverTime\"") else { return body }
        return Data(text.replacing(#/"serverTime"\s*:\s*"[^"]*"/#, with: "\"serverTime\":\"\(now.text)\"").utf8)
    }

    /// RFC 9110, section 5.6.7; rounded down to seconds, as servers do.
    static func httpDate(_ time: Timestamp) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: time.date)
    }
}
