import Foundation
import RegistryClient

/// All that happened in a life, in words without tokens: it is printed when something was wrong.
final class Diary: Sendable {
    private let entries = Guarded<[String]>([])

    func add(_ text: String) { entries.withLock { $0.append(text) } }

    var text: String { entries.withLock { $0 }.joined(separator: "\n") }

    func add(_ request: TransportRequest, _ result: TransportResult, from begin: Duration, to end: Duration) {
        let outcome =
            switch result {
            case .answer(let answer): "\(answer.status)"
            case .noAnswer(let reason), .notSent(let reason): reason
            }
        let time = WorldTime.observedAt(of: request) ?? "no time"
        add("    \(begin.components.seconds)-\(end.components.seconds) s: \(request.name) of \(time): \(outcome)")
    }
}

extension TransportRequest {
    /// The record that it is about, without its token.
    var name: String { "\(method) \(url.pathComponents.suffix(2).joined(separator: "/"))" }
}
