import Foundation
import RegistryClient
import RegistryClientTestSupport

/// The phone's clocks, until the process ends: then all waiting is over.
struct ProcessClock: ClientClock {
    let clock: TestClock
    let end: ProcessEnd

    func now() -> DeviceTime {
        // Whoever still waits has waited long enough.
        guard !end.isOver else { return DeviceTime(wall: .at(0), uptime: .seconds(1_000_000_000), boot: "none") }
        return clock.now()
    }

    func sleep(until uptime: Duration) async {
        guard !end.isOver else { return await Task.yield() }
        let task = Task { [clock] in await clock.sleep(until: uptime) }
        let id = end.notify { task.cancel() }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        end.forget(id)
    }
}

/// The phone's file, until the process ends, which may be at a write.
struct ProcessStorage: ReportStorage {
    let storage: TestStorage
    let end: ProcessEnd

    func change(_ decide: (StoredContent) -> StorageChange) -> Bool {
        guard !end.isOver else {
            _ = decide(.unreadable)
            return false
        }
        var isWritten = false
        let isDone = storage.change { content in
            let change = decide(content)
            guard change != .keep else { return .keep }
            guard !end.isNow(.beforeWrite) else {
                end.comes()
                return .keep
            }
            isWritten = true
            return change
        }
        if isWritten, end.isNow(.afterWrite) { end.comes() }
        return isDone && !end.isOver
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
    let end: ProcessEnd

    func send(_ request: TransportRequest) async -> TransportResult {
        guard !end.isOver else { return .noAnswer("the process is dead") }
        return await network.send(request)
    }
}
