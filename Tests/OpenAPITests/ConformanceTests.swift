import Foundation
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// The service answers what the document says, and everything that the document says is answered by the service.
@Suite struct ConformanceTests {
    private static let document = OpenAPIDocument.embedded

    /// Documented answers that no request can bring about here, and why.
    private static func isOutOfReach(_ outcome: Conformance.Outcome) -> Bool {
        switch outcome.status {
        // Without keys there is but one caller, root, who may do everything in all apps.
        case 403: true
        // Nothing that can be sent is a fault of the service.
        case 500: true
        // Only a key of another app finds an app unknown that it would make.
        case 404: outcome.operation == "putApp"
        // Nobody can report a death yet; and ten thousand channels are too many for one answer.
        case 409: outcome.code == "token-unregistered" || outcome.code == "channel-quota"
        default: false
        }
    }

    @Test("Every answer is as documented, and every documented answer is given", .timeLimit(.minutes(5)))
    func conforms() async throws {
        let registry = try await TestDatabase.make().registry
        let given = try await ConformanceServer.run(registry) { try await Self.probe($0) }
        let darkness = try await ConformanceServer.run(Self.registryInTheDark) { try await Self.probeInTheDark($0) }
        let all = given.union(darkness)
        let missing = Conformance(Self.document).documented.subtracting(all).filter { !Self.isOutOfReach($0) }
        #expect(missing.sorted() == [], "documented, and never given")
        #expect(all.filter(Self.isOutOfReach).sorted() == [], "said to be out of reach, and given")
    }

    @Test("What succeeds is a request as documented", arguments: Probe.specific.filter(\.succeeds))
    func sendsDocumentedRequests(probe: Probe) throws {
        let isMalformedOnPurpose = Probe.malformedItems.contains { $0.description == probe.description }
        guard !isMalformedOnPurpose, let body = probe.message.body else { return }
        let schema = try #require(Self.document.operation(probe.operation)?.requestSchema)
        let validator = SchemaValidator(document: Self.document.json, refusesUndocumented: true)
        #expect(validator.faults(of: try JSONParser.parse(body), against: schema) == [])
    }

    @Test("An alias's stream begins with its head and ends with its end")
    func streamsInOrder() async throws {
        let registry = try await TestDatabase.make().registry
        let probe = try #require(Probe.lists.first { $0.name == "as lines" })
        let reply = try await ConformanceServer.run(registry) { server in
            try await Self.prepare([.put("/v1/apps/\(Message.bundleID)", [:])] + probe.preparation, server)
            return try await server.send(probe.message)
        }
        let lines = try reply.values()
        #expect(lines.count == 3)
        #expect(lines.first?["alias"]?["value"] == "o-4")
        #expect(lines.dropFirst().first?["activityId"] == "list-3")
        #expect(lines.last == ["end": true, "count": 1])
    }

    @Test("Serves this very document")
    func servesTheDocument() async throws {
        let reply = try await ConformanceServer.run(Self.registryInTheDark) { try await $0.send(.get("/openapi.json")) }
        #expect(try reply.values() == [Self.document.json])
    }
}

extension ConformanceTests {
    /// A registry whose Postgres is away.
    private static var registryInTheDark: Registry {
        let logger = Logger(label: "dark") { _ in SwiftLogNoOpLogHandler() }
        let address = "host=127.0.0.1 port=1 user=nobody dbname=nothing"
        return Registry(pool: PostgresPool(databaseURL: address, logger: logger), logger: logger)
    }

    private static func probe(_ server: ConformanceServer) async throws -> Set<Conformance.Outcome> {
        var conformance = Conformance(document)
        try await prepare([.put("/v1/apps/\(Message.bundleID)", [:])], server)
        for probe in Probe.specific { try await run(probe, server, &conformance) }
        for operation in document.operations {
            let sound = try #require(Probe.sound(operation.id), "\(operation.id) has no probe")
            for mistake in Mistake.allCases { try await run(sound.with(mistake), server, &conformance) }
        }
        return conformance.given
    }

    private static func probeInTheDark(_ server: ConformanceServer) async throws -> Set<Conformance.Outcome> {
        var conformance = Conformance(document)
        for operation in document.operations {
            let message = try #require(Probe.sound(operation.id)).message
            try await run(Probe(operation.id, "in the dark", message), server, &conformance)
        }
        return conformance.given
    }

    private static func run(
        _ probe: Probe,
        _ server: ConformanceServer,
        _ conformance: inout Conformance
    ) async throws {
        try await prepare(probe.preparation, server)
        let reply = try await server.send(probe.message)
        let text = String(decoding: reply.body.prefix(1000), as: UTF8.self)
        let faults = conformance.check(reply, of: probe.operation)
        #expect(faults == [], "\(probe): \(reply.status) \(text)")
        if let status = probe.status { #expect(reply.status == status, "\(probe): \(text)") }
        try expectMembers(reply, probe)
    }

    private static func expectMembers(_ reply: Reply, _ probe: Probe) throws {
        guard !probe.members.isEmpty else { return }
        let value = try #require(try reply.values().first)
        for member in probe.members { #expect(value[member.key] == member.value, "\(probe): \(member.key)") }
    }

    private static func prepare(_ messages: [Message], _ server: ConformanceServer) async throws {
        for message in messages {
            let reply = try await server.send(message)
            try #require(reply.status < 300, "\(message.target): \(String(decoding: reply.body, as: UTF8.self))")
        }
    }
}
