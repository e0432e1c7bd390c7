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
        for type in phone.types { registry.follow(type, on: phone.system) }
    }

    var isAlive: Bool { !end.isOver }

    /// Whether only the requests that hang in the network are unanswered.
    func isResting(with stuck: Int) async -> Bool {
        // A turn of the watch is its last one, too.
        _ = await registry.watch?.wake
        await registry.drain()
        return await registry.state.outbox.underWay.count <= stuck
    }

    func waiting() async -> [LiveActivityRegistry.Subject] { await registry.state.outbox.entries.map(\.subject) }
}
