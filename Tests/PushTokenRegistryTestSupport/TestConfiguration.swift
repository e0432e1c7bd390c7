import Foundation
import PushTokenRegistry

extension LiveActivityRegistry.Configuration {
    package static func test(
        storage: TestStorage = TestStorage(),
        installationIDs: TestInstallationIDStore = TestInstallationIDStore("i-1"),
        transport: TestTransport = TestTransport(),
        clock: TestClock = TestClock()
    ) -> Self {
        var configuration = Self(service: URL(string: "https://push.example.com")!, key: "prc_key")
        configuration.bundleID = "com.example.food"
        configuration.environment = .sandbox
        (configuration.storage, configuration.installationIDs) = (storage, installationIDs)
        (configuration.transport, configuration.clock) = (transport.transport, clock)
        (configuration.runsInTests, configuration.metadata) = (true, [:])
        return configuration
    }
}
