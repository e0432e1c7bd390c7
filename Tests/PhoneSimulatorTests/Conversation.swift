import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

/// The requests of one process with their responses. A settled report must not be sent again, and no request may go out
/// during a requested pause.
final class Conversation: Sendable {
    /// The report of an event, with its repetitions. Two processes may each report the same event.
    private struct Words: Sendable, Hashable {
        let id: String?
        let method: String
        let url: URL
        let body: Data?

        init(_ request: RecordedRequest) {
            (id, method, url, body) = (request.fields["Request-Id"], request.method, request.url, request.body)
        }
    }

    private struct State: Sendable {
        var settled: Set<Words> = []
        /// By the monotonic clock.
        var pauses: [Words: Duration] = [:]
    }

    private let state = LockedValue(State())

    func fault(of request: RecordedRequest, at uptime: Duration) -> String? {
        let words = Words(request)
        return state.withLock { state in
            if state.settled.contains(words) { return "\(request.name) was answered, and told again" }
            if let pause = state.pauses[words], pause > uptime { return "\(request.name) came in its pause" }
            return nil
        }
    }

    func hears(_ answer: TransportResponse, of request: RecordedRequest, at uptime: Duration) {
        let words = Words(request)
        let isOurs = answer["Request-Id"] != nil
        state.withLock { state in
            switch answer.status {
            case 200...204 where isOurs, 409 where isOurs, 410 where isOurs: state.settled.insert(words)
            case 429:
                if let pause = answer["Retry-After"].flatMap({ Int($0) }) {
                    state.pauses[words] = uptime + .seconds(pause)
                }
            default: break
            }
        }
    }
}
