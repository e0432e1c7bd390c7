import Foundation
import RegistryClient
import RegistryClientTestSupport

/// The phone's clocks, until the process ends: then all waiting is over.
struct ProcessClock: ClientClock {
    let clock: TestClock
    let end: ProcessEnd
    let meter: CostMeter

    func now() -> DeviceTime {
        // All that still waits has waited long enough.
        guard !end.isOver else { return DeviceTime(wall: .at(0), uptime: .seconds(1_000_000_000), boot: "none") }
        return clock.now()
    }

    func sleep(until uptime: Duration) async {
        guard !end.isOver else { return await Task.yield() }
        let isTimer = uptime > clock.now().uptime
        if isTimer { meter.timerIsSet() }
        let task = Task { [clock] in await clock.sleep(until: uptime) }
        let id = end.notify { task.cancel() }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        end.forget(id)
        if isTimer, !end.isOver, !Task.isCancelled { meter.timerGoesOff() }
    }
}

/// The phone's file, until the process ends, which may be at a write.
struct ProcessStorage: ReportStorage {
    let storage: TestStorage
    let end: ProcessEnd
    let meter: CostMeter

    func change(_ decide: (StoredContent) -> StorageChange) -> Bool {
        guard !end.isOver else {
            _ = decide(.unreadable)
            return false
        }
        var death: ProcessEnd.Moment?
        let isDone = storage.change { content in
            let change = decide(content)
            guard let bytes = change.bytes else { return .keep }
            death = end.beginsToWrite()
            meter.writes(bytes)
            switch death {
            case .beforeWrite: return .keep
            case .duringWrite: return .replace(bytes.prefix(bytes.count / 2))
            case .afterWrite, nil: return change
            }
        }
        if death != nil { end.comes() }
        return isDone && !end.isOver
    }
}

extension StorageChange {
    fileprivate var bytes: Data? {
        switch self {
        case .keep: nil
        case .replace(let bytes), .setAside(let bytes): bytes
        }
    }
}

/// The phone's keychain, until the process ends.
struct ProcessSecrets: SecretStore {
    let secrets: TestSecrets
    let end: ProcessEnd

    func read() -> StoredSecret { end.isOver ? .locked : secrets.read() }
    func keep(_ secret: String) -> String? { end.isOver ? nil : secrets.keep(secret) }
}

/// The network, until the process ends. What is under way then may arrive all the same.
struct ProcessTransport: Transport {
    let network: SimulatedNetwork
    let clock: TestClock
    let end: ProcessEnd
    let meter: CostMeter
    let conversation = Conversation()

    func send(_ request: TransportRequest) async -> TransportResult {
        guard !end.isOver else { return .noAnswer("the process is dead") }
        let begin = clock.now().uptime
        if let fault = conversation.fault(of: request, at: begin) { network.violate(fault) }
        meter.sends(request)
        let result = await network.send(request)
        network.diary.add(request, result, from: begin, to: clock.now().uptime)
        guard !end.isOver else { return .noAnswer("the process is dead") }
        if case .answer(let answer) = result {
            meter.isAnswered()
            conversation.hears(answer, of: request, at: clock.now().uptime)
        }
        return result
    }

    func handOver(_ requests: [TransportRequest]) async {
        if !end.isOver { network.handOver(requests) }
    }
}
