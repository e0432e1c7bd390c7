import ArgumentParser
import Configuration
import EmbeddedPostgres
import Foundation
import Logging
import RegistryCore
import RegistryServer
import RegistryStore
import ServiceLifecycle

/// `pushreg demo`: lives of an activity in front of your eyes.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays lives of an activity through the HTTP API and shows each call and answer.",
        discussion: """
            Without --url it starts a service of its own on a private Postgres, and removes both afterwards. The service \
            that --url names must run with --insecure-no-auth, or give an admin key of com.example.food in PUSHREG_KEY. If an answer is not what it should be, the exit code is 1.
            """
    )

    @Option(help: "The service to play with, such as http://127.0.0.1:8080 (PUSHREG_URL).") var url: String?
    @Flag(help: "Plays with a crowd of 200 instead of 10,000.") var quick = false

    func run() async throws {
        let crowd = quick ? 200 : 10_000
        if let url = url ?? ProcessInfo.processInfo.environment["PUSHREG_URL"] {
            let key = ProcessInfo.processInfo.environment["PUSHREG_KEY"].map { Secret($0) }
            try await DemoLives(service: DemoService(base: url, key: key), crowd: crowd).play()
        } else {
            try await withOwnService { try await DemoLives(service: DemoService(base: $0), crowd: crowd).play() }
        }
    }

    private func withOwnService(_ body: @escaping @Sendable (String) async throws -> Void) async throws {
        let directory =
            FileManager.default.temporaryDirectory.path + "/pushreg-demo-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        Output.words.note("Starting a service on a Postgres of its own in \(directory) …")
        let flags = try SettingSources(flags: [.embedded: .string(directory)], environment: [:])
        let limits = ConnectionLimits(maximumConnections: 16)
        try await DatabaseSettings(flags).withDatabase(.migrate, limits: limits) { database in
            try await serve(database.registry, body)
        }
    }

    private func serve(_ registry: Registry, _ body: @escaping @Sendable (String) async throws -> Void) async throws {
        var configuration = ServerConfiguration()
        configuration.port = 0
        configuration.insecureNoAuth = true
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger.lines(level: .error)
        let application = buildApplication(registry: registry, configuration: configuration, logger: logger) {
            port.yield($0)
        }
        let group = ServiceGroup(services: [application], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                guard let port = await ports.first(where: { _ in true }) else { return }
                try await body("http://127.0.0.1:\(port)")
            }
            // Whichever ends first: the play, or a service that could not start.
            let first = await tasks.nextResult()
            await group.triggerGracefulShutdown()
            try first?.get()
        }
    }
}
