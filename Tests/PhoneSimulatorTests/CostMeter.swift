import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

struct PhoneCosts: Sendable, CustomStringConvertible {
    /// The record of each request, including repetitions.
    var requests: [String] = []
    var answers = 0
    var requestBytes = 0
    /// Timers that the client set, including cancelled ones.
    var timers = 0
    var wakeUps = 0
    /// Writes of the whole file.
    var writes = 0
    var writtenBytes = 0

    var description: String {
        "\(requests.count) requests (\(answers) answered) of \(requestBytes) bytes, \(timers) timers, \(wakeUps) wake-ups, "
            + "\(writes) writes of \(writtenBytes) bytes"
    }
}

final class CostMeter: Sendable {
    private let state = LockedValue(PhoneCosts())
    var costs: PhoneCosts { state.withLock { $0 } }

    func sends(_ request: RecordedRequest) {
        state.withLock { costs in
            costs.requests.append(request.name)
            costs.requestBytes += request.byteCount
        }
    }

    func isAnswered() { state.withLock { $0.answers += 1 } }
    func timerIsSet() { state.withLock { $0.timers += 1 } }
    func timerGoesOff() { state.withLock { $0.wakeUps += 1 } }

    func writes(_ bytes: Data) {
        state.withLock { costs in
            costs.writes += 1
            costs.writtenBytes += bytes.count
        }
    }
}

extension RecordedRequest {
    /// The bytes of the request in HTTP/1.1 as the client makes it: first line, own fields and body. `URLSession` adds
    /// `Host` and others, and TLS its frames.
    fileprivate var byteCount: Int {
        let address = URLComponents(url: url, resolvingAgainstBaseURL: false)
        let query = address?.percentEncodedQuery.map { "?\($0)" } ?? ""
        let lines =
            ["\(method) \(address?.percentEncodedPath ?? "")\(query) HTTP/1.1"] + fields.map { "\($0): \($1)" } + [""]
        return lines.reduce(0) { $0 + $1.utf8.count + 2 } + (body?.count ?? 0)
    }
}
