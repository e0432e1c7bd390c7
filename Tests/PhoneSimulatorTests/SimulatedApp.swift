import PushTokenRegistryTestSupport

@testable import PushTokenRegistry

/// One process of the app, with the real client.
final class SimulatedApp: Sendable {
    let registry: LiveActivityRegistry
    let end = ProcessEnd()
    let meter = CostMeter()

    init(on phone: SimulatedPhone) {
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
        await registry.drain()
        return await registry.state.outbox.underWay.count <= stuck
    }

    func waits(withTokenOf activity: FakeActivity) async -> Bool {
        await registry.state.outbox.entries.contains { entry in
            guard case .registration(let registration) = entry.report else { return false }
            return registration.activityID == activity.id
                && registration.token == activity.token.map { PushToken($0) }
        }
    }

    func waiting() async -> [LiveActivityRegistry.Subject] { await registry.state.outbox.entries.map(\.subject) }
}
