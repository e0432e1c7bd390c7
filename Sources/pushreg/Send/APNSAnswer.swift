import Foundation
import RegistryCore

/// The end of a push: an answer, or none.
enum PushOutcome: Sendable {
    case answered(APNSAnswer)
    /// In words why there is none, and whether APNs may have taken the push all the same.
    case unanswered(String, mayHaveArrived: Bool)
}

/// APNs's answer to a push.
struct APNSAnswer: Sendable, Equatable {
    let status: Int
    var apnsID: String?
    var reason: String?
    /// When APNs knew that the token was dead; it comes with a 410.
    var timestamp: Date?
    var retryAfter: Duration?

    init(status: Int) { self.status = status }

    /// Reads the answer. A text that APNs does not write is dropped: it may be a proxy's, and hold anything.
    init(status: Int, headers: [String: String], body: some Collection<UInt8>) {
        self.status = status
        apnsID = headers["apns-id"].flatMap { $0.isWord("-") ? $0 : nil }
        retryAfter = headers["retry-after"].flatMap { Int($0) }.flatMap { $0 >= 0 ? .seconds($0) : nil }
        guard status != 200, let json = try? JSONParser.parse(body) else { return }
        reason = json["reason"]?.string.flatMap { $0.isWord("") ? $0 : nil }
        timestamp = json["timestamp"].flatMap { try? JSONReader.number($0) }
            .map { Date(timeIntervalSince1970: $0 / 1000) }
    }

    /// It is about the key, the topic or the request: every other push of the run would be answered the same.
    var isAboutSender: Bool {
        let reasons: Set<String> = [
            "BadTopic", "MissingTopic", "TopicDisallowed", "InvalidPushType", "TooManyProviderTokenUpdates",
        ]
        return [403, 404, 405, 413].contains(status) || reasons.contains(reason ?? "")
    }

    /// The answer in one line.
    var words: String { ["\(status)", reason].compactMap(\.self).joined(separator: " ") }
}

extension String {
    fileprivate func isWord(_ others: String) -> Bool {
        (1...64).contains(utf8.count)
            && utf8.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) || others.utf8.contains($0) }
    }
}
