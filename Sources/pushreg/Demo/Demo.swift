import ArgumentParser
import Foundation
import Logging
import RegistryCore
import RegistryServer
import RegistryStore
import ServiceLifecycle
import UnixSignals

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays examples through the HTTP API and shows each call and response.",
        discussion: """
            Without --url it starts a service on a private Postgres, and removes both afterwards. A service given with \
            --url must run with --insecure-no-auth, or PUSHREG_KEY must be an admin key of com.example.food. \
            The exit code is 1 if a response is not as expected.
            """
    )

    @Option(help: "The URL of the service, such as http://127.0.0.1:8080 (PUSHREG_URL).") var url: String?
    @Flag(help: "Registers 200 activities under one alias instead of 10,000.") var quick = false

    private var crowd: Int { quick ? 200 : 10_000 }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
            .mapValues { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        if let url = url ?? environment["PUSHREG_URL"], !url.isEmpty {
            let key = environment["PUSHREG_KEY"].map { Secret($0) }
            try await DemoLives.play(on: Self.base(of: url), key: key, crowd: crowd)
        } else {
            try await runUntilSignal()
        }
    }

    private static func base(of url: String) throws(CommandFailure) -> String {
        let parts = URLComponents(string: url)
        guard let parts, ["http", "https"].contains(parts.scheme?.lowercased()), parts.host?.isEmpty == false,
            (1...65_535).contains(parts.port ?? 80), parts.user == nil, parts.query == nil, parts.fragment == nil
        else { throw CommandFailure(.usage, "--url must be a URL such as http://127.0.0.1:8080.") }
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }

    /// Starts a service, and removes it at the end.
    ///
    /// - Throws: A ``CommandFailure`` if a signal came before the end, and the errors of the demo.
    private func runUntilSignal() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
        let demo = Task { try await runWithOwnDatabase() }
        let watch = Task { for await _ in signals { demo.cancel() } }
        defer { watch.cancel() }
        do {
            try await demo.value
        } catch  where demo.isCancelled {
            // Cancelled calls fail in many ways, and none of them matters.
            throw CommandFailure(.failed, "The demo was interrupted; its service and database are stopped and removed.")
        }
    }

    private func runWithOwnDatabase() async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/pushreg-demo-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        Output.errors.note("Starting a service on a private Postgres in \(directory) …")
        let flags = try SettingSources(flags: [.embedded: .string(directory)], environment: [:])
        let limits = ConnectionLimits(maximumConnections: 16)
        try await DatabaseSettings(flags).withDatabase(.migrate, limits: limits) { try await play($0.registry) }
    }

    private func play(_ registry: Registry) async throws {
        var configuration = ServerConfiguration()
        configuration.port = 0
        configuration.insecureNoAuth = true
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger.lines(level: .critical)
        let server = try Server(registry: registry, configuration: configuration, logger: logger) { port.yield($0) }
        let group = ServiceGroup(services: [server], logger: logger)
        // A separate task, because cancellation would break off requests in flight. It shuts down gracefully instead.
        let service = Task {
            defer { port.finish() }
            try await group.run()
        }
        try await closing(
            after: {
                if let port = await ports.first(where: { _ in true }) {
                    return try await DemoLives.play(on: "http://127.0.0.1:\(port)", crowd: crowd)
                }
                try Task.checkCancellation()
                try await service.value
            },
            {
                await group.triggerGracefulShutdown()
                _ = await service.result
            }
        )
    }
}
