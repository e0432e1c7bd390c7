import Foundation
import RegistryClient

extension LiveActivityRegistry.Configuration {
    package static func test(
        storage: TestStorage = TestStorage(),
        secrets: TestSecrets = TestSecrets("i-1"),
        transport: TestTransport = TestTransport(),
        clock: TestClock = TestClock()
    ) -> Self {
        var configuration = Self(service: URL(string: "https://push.example.com")!, key: "prc_key")
        configuration.bundleID = "com.example.food"
        configuration.environment = .sandbox
        (configuration.storage, configuration.secrets) = (storage, secrets)
        (configuration.transport, configuration.clock) = (transport, clock)
        return configuration
    }
}
