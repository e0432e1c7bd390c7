import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

/// Takes times from the phone's world, which is some days in the past, to the service's and back.
///
/// The service has Postgres's clock. What the phone says stays as it is, but for what its world's registry would refuse as too far
/// ahead: that is put as far ahead of the real time, so that the true service refuses it.
struct WorldTime: Sendable {
    /// The right time in the phone's world.
    let now: Timestamp
    private static let mostAhead = Duration.seconds(300)

    func outward(_ request: RecordedRequest) -> RecordedRequest {
        guard let text = Self.observedAt(of: request), let time = Timestamp(text: text), time > now + Self.mostAhead
        else { return request }
        let shifted = (Timestamp(Date()) + (time - now)).text
        return RecordedRequest(
            method: request.method,
            url: URL(string: request.url.absoluteString.replacing(Self.encoded(text), with: Self.encoded(shifted)))!,
            fields: request.fields,
            body: request.body.map { Data(String(decoding: $0, as: UTF8.self).replacing(text, with: shifted).utf8) }
        )
    }

    /// The answer as a registry in the phone's world would have given it: `Date` and `serverTime` are of that world.
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

    static func observedAt(of request: RecordedRequest) -> String? {
        if let body = request.body, let json = try? JSONSerialization.jsonObject(with: body) as? [String: Any] {
            return json["observedAt"] as? String
        }
        let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems
        return items?.first { $0.name == "observedAt" }?.value
    }

    private static func encoded(_ time: String) -> String { time.replacing(":", with: "%3A") }

    /// RFC 9110, section 5.6.7; rounded down to seconds, as servers do.
    static func httpDate(_ time: Timestamp) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: time.date)
    }
}
