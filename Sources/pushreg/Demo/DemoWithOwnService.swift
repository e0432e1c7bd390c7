import EmbeddedPostgres
import Foundation
import Logging
import RegistryCore
import RegistryServer
import RegistryStore
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs the demo against a service that it starts, and removes that service at the end. A signal cancels the demo.
final class DemoWithOwnService: Service {
    private let crowd: Int
    private let isFinished = Atomic(false)

    init(crowd: Int) { self.crowd = crowd }

    /// - Throws: A ``CommandFailure`` if a signal came before the end, and the errors of the demo.
    func runUntilSignal() async throws {
        let configuration = ServiceGroupConfiguration(
            services: [.init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)],
            cancellationSignals: [.sigint, .sigterm, .sighup],
            logger: .lines(level: .critical)
        )
        try await ServiceGroup(configuration: configuration).run()
        guard isFinished.load(ordering: .acquiring) else {
            throw CommandFailure(.failed, "The demo was interrupted; its service and database are stopped and removed.")
        }
    }

    func run() async throws {
        do {
            try await withOwnService { [self] in
                try await DemoLives.play(on: $0, crowd: crowd)
                isFinished.store(true, ordering: .releasing)
            }
        } catch let error where !Task.isCancelled {
            throw error
        } catch {
            // Cancelled calls fail in many ways, and none of them matters.
        }
    }

    private func withOwnService(_ body: @escaping @Sendable (String) async throws -> Void) async throws {
        let directory = try Self.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        Output.errors.note("Starting a service on a private Postgres in \(directory) …")
        let flags = try SettingSources(flags: [.embedded: .string(directory)], environment: [:])
        let limits = ConnectionLimits(maximumConnections: 16)
        try await DatabaseSettings(flags).withDatabase(.migrate, limits: limits) { database in
            try await serve(database.registry, body)
        }
    }

    private static func makeDirectory() throws(CommandFailure) -> String {
        var path = Array((FileManager.default.temporaryDirectory.path + "/pushreg-demo-XXXXXX").utf8CString)
        guard mkdtemp(&path) != nil else {
            let reason = String(cString: strerror(errno))
            throw CommandFailure(.unavailable, "Cannot create a directory under TMPDIR or /tmp: \(reason).")
        }
        return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func serve(_ registry: Registry, _ body: @escaping @Sendable (String) async throws -> Void) async throws {
        var configuration = ServerConfiguration()
        configuration.port = 0
        configuration.insecureNoAuth = true
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger.lines(level: .critical)
        let server = try Server(registry: registry, configuration: configuration, logger: logger) {
            port.yield($0)
        }
        let group = ServiceGroup(services: [server], logger: logger)
        // A separate task, because cancellation would break off requests in flight. It shuts down gracefully instead.
        let service = Task { try await group.run() }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await service.value }
            tasks.addTask {
                guard let port = await ports.first(where: { _ in true }) else { return }
                try await body("http://127.0.0.1:\(port)")
            }
            // The demo ends first, unless the service fails to start.
            let first = await tasks.nextResult()
            await group.triggerGracefulShutdown()
            try first?.get()
        }
    }
}
