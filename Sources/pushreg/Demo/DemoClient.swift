import Foundation
import RegistryClient
import RegistryLiveActivities

/// The client of the app on the demo's phone, as the app would make it, and what it tells the service.
struct DemoClient {
    private let registry: LiveActivityRegistry
    private let transport: DemoTransport
    private let calls: AsyncStream<DemoTransport.Call>

    init(service: DemoService, address: URL) {
        let (calls, continuation) = AsyncStream.makeStream(of: DemoTransport.Call.self)
        (self.calls, transport) = (calls, DemoTransport(service, calls: continuation))
        // No key: either the service runs without keys, or the transport has the demo's own.
        var configuration = LiveActivityRegistry.Configuration(service: address, key: "")
        configuration.bundleID = "com.example.food"
        configuration.environment = .sandbox
        (configuration.transport, configuration.storage) = (transport, DemoStorage())
        configuration.secrets = DemoKeychain()
        registry = LiveActivityRegistry(configuration)
    }

    /// Follows the type and starts, as an app does in its initialiser.
    func start(on phone: DemoPhone) {
        registry.follow(phone.followed, on: phone)
        registry.start()
    }

    /// From now on no call is answered, or all are.
    func tunnel(_ isInTunnel: Bool) { transport.tunnel(isInTunnel) }

    /// Returns when the client has made a call, and the service taken it, or nobody.
    ///
    /// - Parameter path: the end of the path, without its query.
    /// - Throws: a ``CommandFailure`` when it did not come.
    func makes(_ method: String, _ path: String, isTaken: Bool = true) async throws {
        let isMade = await withTaskGroup(of: Bool.self) { group in
            group.addTask { [calls] in
                for await call in calls where call.method == method && call.isTaken == isTaken {
                    if call.path.prefix(while: { $0 != "?" }).hasSuffix(path) { return true }
                }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: Self.mostWaiting)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        guard isMade else {
            throw CommandFailure(
                .failed,
                "The phone's client should have made this call, and did not: \(method) …/\(path)."
            )
        }
    }

    /// It looks at the activities one second after it started, and at the start token after two.
    private static let mostWaiting = Duration.seconds(30)
}

extension DemoTransport.Call {
    /// The service took it: false where nobody answered; nil when it was refused.
    fileprivate var isTaken: Bool? {
        guard let status else { return false }
        return status < 300 ? true : nil
    }
}
