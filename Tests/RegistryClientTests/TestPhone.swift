import RegistryClientTestSupport

@testable import RegistryClient

/// A client with all that is around it, which outlives the client as a phone outlives an app.
final class TestPhone: Sendable {
    let storage: TestStorage
    let secrets: TestSecrets
    let transport = TestTransport()
    let clock: TestClock
    let registry: LiveActivityRegistry

    init(
        storage: TestStorage = TestStorage(),
        secrets: TestSecrets = TestSecrets("i-1"),
        clock: TestClock = TestClock(),
        isStarted: Bool = true
    ) {
        (self.storage, self.secrets, self.clock) = (storage, secrets, clock)
        let configuration = LiveActivityRegistry.Configuration.test(
            storage: storage,
            secrets: secrets,
            transport: transport,
            clock: clock
        )
        registry = LiveActivityRegistry(configuration)
        if isStarted { registry.start() }
    }

    func relaunched() -> TestPhone { TestPhone(storage: storage, secrets: secrets, clock: clock) }

    @discardableResult
    func answer(_ answer: TransportAnswer = .registered) async -> TestTransport.Call {
        let call = await transport.next()
        call.answer(answer)
        return call
    }

    /// Whether nothing is under way, nor goes now.
    func isQuiet() async -> Bool {
        await registry.caughtUp()
        return await registry.outbox.underWay.isEmpty
    }
}
