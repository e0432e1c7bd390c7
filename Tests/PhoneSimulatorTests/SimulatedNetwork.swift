import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import TestSupport

/// The network between phone and service. It continues after the end of the app's process.
final class SimulatedNetwork: Sendable {
    enum Mode: Sendable, CaseIterable {
        case online
        case offline
        case portal
        /// A captive portal responds without a page, as to a phone's probe.
        case emptyPortal
        /// The service accepts the request, and its response is lost.
        case deaf
        /// The request hangs until the mode changes.
        case stuck
        /// The phone gets no response, and the request arrives much later.
        case late
        /// A proxy responds 502. The service may have accepted the request.
        case failing
        /// A proxy responds 429 with a pause.
        case throttled
        /// The service does not know the phone's app: the app does not exist yet, or the address is wrong.
        case astray
        /// Each request gets a random mode.
        case changing
    }

    private struct State: Sendable {
        var mode = Mode.online
        var seed: UInt64
        /// Requests that arrived and were not refused for their time. iOS may upload them again.
        var sent: [RecordedRequest] = []
        /// Requests that arrive later, judged by the time of their departure.
        var late: [RecordedRequest] = []
        /// Requests that iOS sends in place of the app.
        var submitted: [RecordedRequest] = []
        var stuck: [CheckedContinuation<Void, Never>] = []
        var underWay = 0
        var idle: [CheckedContinuation<Void, Never>] = []
        var delivered: [RecordedRequest] = []
        var violations: [String] = []
        /// Activities with an answered end.
        var ended: Set<String> = []

        /// A new generator each time.
        mutating func generator() -> SeededGenerator {
            var generator = SeededGenerator(seed: seed)
            seed = generator.next()
            return generator
        }
    }

    private let state: LockedValue<State>
    private let service: SimulatedService
    private let clock: TestClock
    let diary = Diary()

    init(_ service: SimulatedService, clock: TestClock, seed: UInt64) {
        (self.service, self.clock) = (service, clock)
        state = LockedValue(State(seed: seed))
    }

    var violations: [String] { state.withLock { $0.violations } }
    var ended: Set<String> { state.withLock { $0.ended } }
    var delivered: [RecordedRequest] { state.withLock { $0.delivered } }
    var isOnline: Bool { state.withLock { $0.mode == .online } }
    var stuck: Int { state.withLock { $0.stuck.count } }

    func setMode(_ mode: Mode) {
        let stuck = state.withLock { state in
            state.mode = mode
            defer { state.stuck = [] }
            return state.stuck
        }
        for continuation in stuck { continuation.resume() }
    }

    func send(_ request: RecordedRequest) async -> TransportResult {
        state.withLock { $0.underWay += 1 }
        defer { leave() }
        var mode = mode()
        while mode == .stuck {
            await hang()
            mode = self.mode()
        }
        switch mode {
        // `changing` and `stuck` do not get here.
        case .online, .changing, .stuck: return await deliver(request)
        case .offline: return .notSent
        case .portal: return Self.portal.result
        case .emptyPortal: return TransportResponse(status: 204, fields: [:], body: Data()).result
        case .deaf:
            _ = await deliver(request)
            return .noResponse
        case .late:
            let outward = WorldTime(now: clock.rightTime).outward(request)
            state.withLock { $0.late.append(outward) }
            return .noResponse
        case .failing:
            if luck(percent: 50) { _ = await deliver(request) }
            return Self.badGateway.result
        case .throttled: return Self.tooMany.result
        case .astray: return await deliver(Self.astray(request))
        }
    }

    private func luck(percent: Int) -> Bool {
        state.withLock { state in
            var generator = state.generator()
            return Bool.random(percent: percent, &generator)
        }
    }

    private func mode() -> Mode {
        state.withLock { state in
            guard state.mode == .changing else { return state.mode }
            var generator = state.generator()
            let modes: [Mode] = [.online, .online, .offline, .deaf, .late, .failing, .throttled]
            return modes.randomElement(using: &generator) ?? .online
        }
    }

    private func hang() async {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                guard state.mode == .stuck else { return true }
                state.stuck.append(continuation)
                return false
            }
            if goesOn { continuation.resume() } else { tellIdle() }
        }
    }

    private func leave() {
        state.withLock { $0.underWay -= 1 }
        tellIdle()
    }

    private func tellIdle() {
        let idle = state.withLock { state in
            guard state.underWay <= state.stuck.count else { return [CheckedContinuation<Void, Never>]() }
            defer { state.idle = [] }
            return state.idle
        }
        for continuation in idle { continuation.resume() }
    }

    /// Returns once no request is on its way, except stuck ones.
    func rests() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                guard state.underWay > state.stuck.count else { return true }
                state.idle.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    private static let portal = page(200, "Welcome to the hotel")
    private static let badGateway = page(502, "Bad gateway")
    private static let tooMany = page(429, "Slow down", ["Retry-After": "40"])

    private static func page(_ status: Int, _ text: String, _ fields: [String: String] = [:]) -> TransportResponse {
        let all = fields.merging(["Content-Type": "text/html"]) { $1 }
        return TransportResponse(status: status, fields: all, body: Data("<html>\(text)</html>".utf8))
    }

    private static func astray(_ request: RecordedRequest) -> RecordedRequest {
        let address = request.url.absoluteString.replacing(SimulatedService.bundleID, with: "com.example.other")
        let url = URL(string: address)!
        return RecordedRequest(method: request.method, url: url, fields: request.fields, body: request.body)
    }

    private func deliver(_ request: RecordedRequest) async -> TransportResult {
        state.withLock { $0.delivered.append(request) }
        let result = await HTTPTransport.urlSession.send(WorldTime(now: clock.rightTime).outward(request).urlRequest)
        guard let answer = result.answer else { return result }
        if answer.status < 403 || [409, 410].contains(answer.status) { state.withLock { $0.sent.append(request) } }
        if answer.status >= 500 { violate("a \(request.method) was answered with \(answer.status)") }
        await look(at: request, answer)
        return WorldTime(now: clock.rightTime).homeward(answer).result
    }

    /// An activity with an answered end must not be returned to senders.
    private func look(at request: RecordedRequest, _ answer: TransportResponse) async {
        let path = request.url.path.split(separator: "/").map(String.init)
        guard request.method == "DELETE", answer.status == 204, path.count == 6, path[4] == "activities" else { return }
        _ = state.withLock { $0.ended.insert(path[5]) }
        do {
            guard try await service.sender.text("token", ofActivity: path[5]) != nil else { return }
            violate("\(path[5]) was handed out after its end was answered")
        } catch { violate("\(error)") }
    }

    private func violate(_ text: String) {
        state.withLock { $0.violations.append(text) }
        diary.add("    WRONG: \(text)")
    }

    /// Delivers late requests in random order; nil for all.
    func lateOnesArrive(_ count: Int? = nil) async {
        let requests = state.withLock { state in
            var generator = state.generator()
            state.late.shuffle(using: &generator)
            let count = min(count ?? state.late.count, state.late.count)
            defer { state.late.removeFirst(count) }
            return Array(state.late.prefix(count))
        }
        for request in requests { _ = await deliver(request) }
    }

    /// Gives requests to the system. It may still send earlier ones, because they may be on their way.
    func handOver(_ requests: [RecordedRequest]) {
        state.withLock { $0.submitted += requests }
        for request in requests { diary.add("    handed over: \(request.name)") }
    }

    /// The system sends some of its requests in random order, and repeats some later; nil for all.
    func handedOverOnesGo(_ count: Int? = nil) async {
        guard state.withLock({ [.online, .deaf, .late, .changing].contains($0.mode) }) else { return }
        let requests = state.withLock { state in
            var generator = state.generator()
            state.submitted.shuffle(using: &generator)
            let requests = state.submitted.prefix(count ?? state.submitted.count)
            if !Bool.random(percent: 30, &generator) { state.submitted.removeFirst(requests.count) }
            return Array(requests)
        }
        for request in requests { _ = await deliver(request) }
    }

    /// Delivers earlier requests again in random order; nil for all.
    func arriveAgain(_ count: Int? = nil) async {
        let requests = state.withLock { state in
            var generator = state.generator()
            let sent = state.sent.shuffled(using: &generator)
            return Array(sent.prefix(count ?? sent.count))
        }
        for request in requests { _ = await deliver(request) }
    }
}

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
