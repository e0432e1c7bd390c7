import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

/// The events of a life in words without tokens, printed after a failure.
final class Diary: Sendable {
    private let entries = LockedValue<[String]>([])

    func add(_ text: String) { entries.withLock { $0.append(text) } }

    var text: String { entries.withLock { $0 }.joined(separator: "\n") }

    func add(_ request: RecordedRequest, _ result: TransportResult, from begin: Duration, to end: Duration) {
        let outcome =
            switch result {
            case .response: "\(result.answer?.status ?? 0)"
            case .noResponse: "no response"
            case .notSent: "not sent"
            }
        let time = request["observedAt"] ?? "no time"
        add("    \(begin.components.seconds)-\(end.components.seconds) s: \(request.name) of \(time): \(outcome)")
    }
}

extension RecordedRequest {
    var name: String { "\(method) \(url.pathComponents.suffix(2).joined(separator: "/"))" }
}
