import ArgumentParser
import Configuration
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// `pushreg demo`: the lives of a few activities in front of your eyes.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays the lives of a few activities, each call and answer shown and checked.",
        discussion: """
            Without --url it starts a service with a database of its own, and removes both at the end. Against a running \
            service it uses the app com.example.food, in the sandbox, which it makes where it is missing; the service must \
            run with --insecure-no-auth. The exit code is 1 when an answer is not what it should be.
            """
    )

    @Option(help: "The address of a running service, such as http://127.0.0.1:8080 (PUSHREG_URL).")
    var url: String?

    @Flag(help: "Plays with a crowd of 200 instead of 10,000.")
    var quick = false

    private var crowdSize: Int { quick ? 200 : 10_000 }

    func run() async throws {
        if let address = try address() {
            try await run(DemoService(crowdSize: crowdSize) { address })
        } else {
            try await runWithOwnService()
        }
    }

    private func address() throws -> String? {
        let sources = try SettingSources(flags: url.map { [.url: .string($0)] } ?? [:])
        guard let found = try sources.find(.url), let text = found.text else { return nil }
        guard let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme), parts.host != nil
        else {
            throw CommandFailure(.usage, "\(found.givenName) must be an address such as http://127.0.0.1:8080.")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private func runWithOwnService() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "pushreg-demo-\(DemoStage.randomHex(bytes: 8))"
        )
        defer { try? FileManager.default.removeItem(at: directory) }
        Output.words.note("Starting a service with a Postgres of its own in \(directory.path).")
        let (addresses, found) = AsyncStream.makeStream(of: String.self)
        let service = try RegistryService.forDemo(in: directory.path) { address in found.yield(address) }
        let demo = DemoService(crowdSize: crowdSize) {
            for await address in addresses { return address }
            throw CancellationError()
        }
        try await run(demo, with: [.init(service: service)])
    }

    // A signal cancels, and what was started is stopped and removed on the way out.
    private func run(_ demo: DemoService, with others: [ServiceGroupConfiguration.ServiceConfiguration] = [])
        async throws
    {
        let own = ServiceGroupConfiguration.ServiceConfiguration(
            service: demo,
            successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup,
            serviceName: "demo"
        )
        let configuration = ServiceGroupConfiguration(
            services: others + [own],
            cancellationSignals: [.sigint, .sigterm],
            logger: .lines(level: .critical)
        )
        try await ServiceGroup(configuration: configuration).run()
        guard demo.isFinished else { throw CommandFailure(.failed, "The demo was interrupted.") }
    }
}

extension RegistryService {
    /// A service for the demo alone: on any free port, without keys, quiet.
    fileprivate static func forDemo(
        in directory: String,
        onServing: @escaping @Sendable (String) async -> Void
    ) throws -> RegistryService {
        // Nothing of the user's settings may reach it: not a database, not a host.
        let flags: [Setting: ConfigContent] = [
            .embedded: .string(directory), .port: .int(0), .insecureNoAuth: .bool(true), .logLevel: .string("error"),
        ]
        let sources = try SettingSources(flags: flags, environment: [:])
        return RegistryService(
            database: try DatabaseSettings(sources),
            settings: try ServiceSettings(sources),
            logger: .lines(level: .error),
            onServing: onServing
        )
    }
}
