import Foundation
import PushTokenRegistryTestSupport

@testable import PushTokenRegistry

/// One process of the app, with the real client.
final class SimulatedApp: Sendable {
    let registry: LiveActivityRegistry
    let end: ProcessEnd
    let meter = CostMeter()

    init(on phone: SimulatedPhone) {
        end = ProcessEnd(clock: phone.clock)
        var configuration = LiveActivityRegistry.Configuration(service: phone.service.url, key: phone.service.clientKey)
        configuration.bundleID = SimulatedService.bundleID
        configuration.environment = .sandbox
        configuration.storage = ProcessStorage(storage: phone.storage, end: end, meter: meter)
        configuration.installationIDs = ProcessSecrets(installationIDs: phone.installationIDs, end: end)
        let transport = ProcessTransport(network: phone.network, clock: phone.clock, end: end, meter: meter)
        configuration.transport = transport.transport
        (configuration.runsInTests, configuration.metadata) = (true, [:])
        configuration.clock = ProcessClock(clock: phone.clock, end: end, meter: meter)
        registry = LiveActivityRegistry(configuration)
        let system = ProcessSystem(phone: phone.system, end: end)
        for type in phone.types { registry.follow(type, on: system) }
    }

    var isAlive: Bool { !end.isOver }

    /// Whether only the requests that hang in the network are unanswered, and nothing is being handed over.
    func isResting(with stuck: Int, on system: FakePhone) async -> Bool {
        // A turn of the watch is its last one, too. A background task that it no longer holds ends after the handover.
        let held = await registry.watch?.wake == nil ? 0 : 1
        await registry.drain()
        return await registry.state.outbox.underWay.count <= stuck && system.backgroundTasks <= held
    }

    func waiting() async -> [LiveActivityRegistry.Subject] { await registry.state.outbox.entries.map(\.subject) }
}

/// The end of a process. Code that still runs afterwards has no effect on the phone.
final class ProcessEnd: Sendable {
    enum Moment: Sendable, CaseIterable {
        case beforeWrite
        /// Half of the bytes are written.
        case duringWrite
        case afterWrite
    }

    private struct State: Sendable {
        var isOver = false
        var planned: (moment: Moment, write: Int)?
        /// The number of attempted writes.
        var writes = 0
    }

    private let state = LockedValue(State())
    private let clock: TestClock

    init(clock: TestClock) { self.clock = clock }

    var isOver: Bool { state.withLock { $0.isOver } }
    var writes: Int { state.withLock { $0.writes } }
    func comes(at moment: Moment, write: Int = 1) { state.withLock { $0.planned = (moment, $0.writes + write) } }
    func isCalledOff() { state.withLock { $0.planned = nil } }

    func beginsToWrite() -> Moment? {
        state.withLock { state in
            state.writes += 1
            return state.planned?.write == state.writes ? state.planned?.moment : nil
        }
    }

    func comes() {
        state.withLock { $0.isOver = true }
        clock.wakeAll()
    }
}

/// The phone's clocks. When the process ends, all waiting ends.
struct ProcessClock: ClientClock {
    let clock: TestClock
    let end: ProcessEnd
    let meter: CostMeter
    /// Called when a task begins to wait.
    @TaskLocal static var willWait: @Sendable () -> Void = {}

    func now() -> DeviceTime {
        // Every wait is over.
        guard !end.isOver else { return DeviceTime(wall: .at(0), uptime: .seconds(1_000_000_000), boot: "none") }
        return clock.now()
    }

    func sleep(until uptime: Duration) async {
        Self.willWait()
        guard !end.isOver else { return await Task.yield() }
        let isTimer = uptime > clock.now().uptime
        if isTimer { meter.timerIsSet() }
        await clock.sleep(until: uptime) { end.isOver }
        if isTimer, !end.isOver, !Task.isCancelled { meter.timerGoesOff() }
    }
}

/// The phone's file until the process ends, possibly at a write.
struct ProcessStorage: StateStorage {
    let storage: TestStorage
    let end: ProcessEnd
    let meter: CostMeter

    func read() throws -> Data? {
        if end.isOver { throw Locked() }
        return try storage.read()
    }

    func write(_ bytes: Data) -> Bool {
        guard !end.isOver else { return false }
        let death = end.beginsToWrite()
        meter.writes(bytes)
        let isDone =
            switch death {
            case .beforeWrite: false
            case .duringWrite: storage.write(bytes.prefix(bytes.count / 2))
            case .afterWrite, nil: storage.write(bytes)
            }
        if death != nil { end.comes() }
        return isDone && !end.isOver
    }

    func setAside() { if !end.isOver { storage.setAside() } }
}

/// The phone, whose background tasks end with the process.
struct ProcessSystem: ActivitySystem {
    let phone: FakePhone
    let end: ProcessEnd

    var areActivitiesEnabled: Bool { phone.areActivitiesEnabled }
    var areFrequentPushesEnabled: Bool? { phone.areFrequentPushesEnabled }
    func enablements() -> AsyncStream<Bool> { phone.enablements() }
    func isProtectedDataAvailable() async -> Bool { await phone.isProtectedDataAvailable() }
    func transitions() -> AsyncStream<AppTransition> { phone.transitions() }
    func widgetToken() async -> Data? { await phone.widgetToken() }

    func beginBackgroundTask() async -> BackgroundTime? {
        let time = await phone.beginBackgroundTask()
        if end.isOver { time?.end() }
        return time
    }
}

struct ProcessSecrets: InstallationIDStore {
    let installationIDs: TestInstallationIDStore
    let end: ProcessEnd

    func read() throws -> String? {
        if end.isOver { throw Locked() }
        return try installationIDs.read()
    }

    func keep(_ id: String) { if !end.isOver { installationIDs.keep(id) } }
}

/// The network until the process ends. Requests under way may still arrive.
struct ProcessTransport: Sendable {
    let network: SimulatedNetwork
    let clock: TestClock
    let end: ProcessEnd
    let meter: CostMeter

    var transport: HTTPTransport {
        var transport = HTTPTransport.urlSession
        transport.send = { await send(RecordedRequest($0)) }
        transport.submitInBackground = { requests in
            if !end.isOver { network.handOver(requests.map(RecordedRequest.init)) }
        }
        return transport
    }

    private func send(_ request: RecordedRequest) async -> TransportResult {
        guard !end.isOver else { return .noResponse }
        let begin = clock.now().uptime
        meter.sends(request)
        let result = await network.send(request)
        network.diary.add(request, result, from: begin, to: clock.now().uptime)
        guard !end.isOver else { return .noResponse }
        if result.answer != nil { meter.isAnswered() }
        return result
    }
}

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
