import PushTokenRegistryTestSupport

@testable import PushTokenRegistry

/// A client on a simulated phone. The phone keeps its state when the client is launched again.
final class TestPhone: Sendable {
    let storage: TestStorage
    let installationIDs: TestInstallationIDStore
    let transport = TestTransport()
    let clock: TestClock
    let system = FakePhone()
    let type = FakeType()
    let registry: LiveActivityRegistry
    let log = LockedValue<[String]>([])

    init(
        storage: TestStorage = TestStorage(),
        installationIDs: TestInstallationIDStore = TestInstallationIDStore("i-1"),
        clock: TestClock = TestClock(),
        isStarted: Bool = true,
        _ configure: (inout LiveActivityRegistry.Configuration) -> Void = { _ in }
    ) {
        (self.storage, self.installationIDs, self.clock) = (storage, installationIDs, clock)
        var configuration = LiveActivityRegistry.Configuration.test(
            storage: storage,
            installationIDs: installationIDs,
            transport: transport,
            clock: clock
        )
        configuration.writeLog = { [log] _, text in log.withLock { $0.append(text) } }
        configure(&configuration)
        registry = LiveActivityRegistry(configuration)
        if isStarted { registry.activate() }
    }

    func relaunched() -> TestPhone { TestPhone(storage: storage, installationIDs: installationIDs, clock: clock) }

    @discardableResult
    func answer(_ answer: TransportResponse = .registered) async -> TestTransport.Call {
        let call = await transport.next()
        call.answer(answer)
        return call
    }

    func isQuiet() async -> Bool {
        await registry.drain()
        return await registry.state.outbox.underWay.isEmpty
    }
}
