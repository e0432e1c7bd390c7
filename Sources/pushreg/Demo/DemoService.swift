import AsyncHTTPClient
import ServiceLifecycle
import Synchronization

/// Plays all scenes once, against the service at the address that it is given.
final class DemoService: Service {
    private let crowdSize: Int
    private let address: @Sendable () async throws -> String
    private let finished = Atomic(false)

    /// - Parameter address: waits for the service to accept requests.
    init(crowdSize: Int, address: @escaping @Sendable () async throws -> String) {
        self.crowdSize = crowdSize
        self.address = address
    }

    /// Whether all scenes were played and came out as expected.
    var isFinished: Bool { finished.load(ordering: .acquiring) }

    /// - Throws: a ``CommandFailure`` when the service does not answer, or not as expected.
    func run() async throws {
        let address = try await address()
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16
        let http = HTTPClient(configuration: configuration)
        do {
            try await play(DemoStage(client: DemoClient(address: address, http: http), screen: DemoScreen()))
        } catch {
            try? await http.shutdown()
            throw error
        }
        try await http.shutdown()
        finished.store(true, ordering: .releasing)
    }

    private func play(_ stage: DemoStage) async throws {
        try stage.screen.say("Playing with the service at \(stage.client.address). All tokens are made up.")
        try await stage.prepareApp()
        try await stage.normalLife()
        try await stage.rotationAndLateRetries()
        try await stage.takeover()
        try await stage.swipe()
        try await stage.crowd(of: crowdSize)
        try stage.screen.say("\nAll came out as expected.")
    }
}
