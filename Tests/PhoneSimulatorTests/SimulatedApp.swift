import RegistryClientTestSupport
import RegistryLiveActivities

@testable import RegistryClient

/// One process of the app, or of its extension, with the true client in it.
final class SimulatedApp: Sendable {
    let registry: LiveActivityRegistry
    let end = ProcessEnd()
    let meter = CostMeter()

    init(on phone: SimulatedPhone) {
        var configuration = LiveActivityRegistry.Configuration(service: phone.service.url, key: phone.service.clientKey)
        configuration.bundleID = SimulatedService.bundleID
        configuration.environment = .sandbox
        configuration.storage = ProcessStorage(storage: phone.storage, end: end, meter: meter)
        configuration.secrets = ProcessSecrets(secrets: phone.secrets, end: end)
        let transport = ProcessTransport(network: phone.network, clock: phone.clock, end: end, meter: meter)
        configuration.transport = transport
        configuration.clock = ProcessClock(clock: phone.clock, end: end, meter: meter)
        registry = LiveActivityRegistry(configuration)
        for type in phone.types { registry.follow(type.followed, on: phone.system) }
    }

    var isAlive: Bool { !end.isOver }

    /// As many as are answered by nobody yet, and not hanging in the network.
    func isResting(with stuck: Int) async -> Bool {
        await registry.caughtUp()
        return await registry.outbox.underWay.count <= stuck
    }

    /// Whether a report of an activity's present token waits.
    func waits(withTokenOf activity: FakeActivity) async -> Bool {
        await registry.outbox.entries.contains { entry in
            guard case .registration(let registration) = entry.report else { return false }
            return registration.activityID.string == activity.id
                && registration.token == activity.token.map { Token($0) }
        }
    }

    /// The names of what waits.
    func waiting() async -> [ReportName] { await registry.outbox.entries.map(\.name) }
}
