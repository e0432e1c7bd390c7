import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

/// The phone's clocks. When the process ends, all waiting ends.
struct ProcessClock: ClientClock {
    let clock: TestClock
    let end: ProcessEnd
    let meter: CostMeter

    func now() -> DeviceTime {
        // Every wait is over.
        guard !end.isOver else { return DeviceTime(wall: .at(0), uptime: .seconds(1_000_000_000), boot: "none") }
        return clock.now()
    }

    func sleep(until uptime: Duration) async {
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
