import HTTPTypes
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct ConformanceTests {
    private static let document = APIDocument.embedded

    /// Documented responses that no request here can cause, and the reasons.
    private static func isOutOfReach(_ outcome: Conformance.Outcome) -> Bool {
        switch outcome.status {
        // No request causes an internal error.
        case 500: true
        // One test cannot make ten thousand channels.
        case 409: outcome.code == "channel-quota"
        // No position here is old enough; the store's tests make one.
        case 410: outcome.code == "feed-expired"
        default: false
        }
    }

    @Test func `Every response is documented, and every documented response occurs`() async throws {
        let registry = try await TestDatabase.make().registry
        try await TestKeys.shared.store(in: registry)
        let given = try await ConformanceServer.run(registry) { try await Self.probe($0) }
        let darkness = try await ConformanceServer.run(Self.registryInTheDark) { try await Self.probeInTheDark($0) }
        let crowded = try await ConformanceServer.run(registry, keyRate: RateLimit(rate: 1)) { server in
            try await Self.probeInACrowd(server, registry)
        }
        let all = given.union(darkness).union(crowded)
        let missing = Conformance(Self.document).documented.subtracting(all).filter { !Self.isOutOfReach($0) }
        #expect(missing.sorted() == [], "documented, but never given")
        #expect(all.filter(Self.isOutOfReach).sorted() == [], "listed as out of reach, but given")
    }

    @Test(arguments: Probe.specific.filter(\.succeeds)) func `Successful requests are documented`(probe: Probe) throws {
        let isMalformedOnPurpose = Probe.malformedItems.contains { $0.description == probe.description }
        guard !isMalformedOnPurpose, let body = probe.message.body else { return }
        let schema = try #require(Self.document.operation(probe.operation)?.requestSchema)
        let validator = SchemaValidator(document: Self.document.json, refusesUndocumented: true)
        #expect(validator.faults(of: try JSONParser.parse(body), against: schema) == [])
    }

    @Test(arguments: Probe.excluded) func `Requests that a schema excludes are undocumented`(probe: Probe) throws {
        let schema = try #require(Self.document.operation(probe.operation)?.requestSchema)
        let body = try JSONParser.parse(try #require(probe.message.body))
        #expect(SchemaValidator(document: Self.document.json).faults(of: body, against: schema) != [])
    }

    @Test func `The service serves this document`() async throws {
        let reply = try await ConformanceServer.run(Self.registryInTheDark) { try await $0.send(.get("/openapi.json")) }
        #expect(try reply.values() == [Self.document.json])
    }
}

extension ConformanceTests {
    private static var registryInTheDark: Registry {
        let address = "host=127.0.0.1 port=1 user=nobody dbname=nothing"
        return Registry(pool: PostgresPool(databaseURL: address, logger: .silent), logger: .silent)
    }

    private static func probe(_ server: ConformanceServer) async throws -> Set<Conformance.Outcome> {
        var conformance = Conformance(document)
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

    private static func probeInACrowd(
        _ server: ConformanceServer,
        _ registry: Registry
    ) async throws -> Set<Conformance.Outcome> {
        var conformance = Conformance(document)
        let root = try await registry.makeKey(.root, of: nil)
        for operation in document.operations where operation.response(429) != nil {
            let sound = Probe(operation.id, "in a crowd", try #require(Probe.sound(operation.id)).message.with(root))
            let tooMany = Conformance.Outcome(operation: operation.id, status: 429, code: "too-many-requests")
            // On a slow machine, some quota returns between two requests.
            while !conformance.given.contains(tooMany) {
                while try await server.send(Message(.get, "/v1/apps").with(root)).status != 429 {}
                try await run(sound, server, &conformance)
            }
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
        let text = reply.text.prefix(1000)
        #expect(conformance.check(reply, of: probe.operation) == [], "\(probe): \(reply.status) \(text)")
        if let status = probe.status { #expect(reply.status == status, "\(probe): \(text)") }
        try expectMembers(reply, probe)
    }

    private static func expectMembers(_ reply: Reply, _ probe: Probe) throws {
        guard !probe.members.isEmpty || !probe.names.isEmpty else { return }
        let values = try reply.values()
        let answer = reply.mediaType == "application/x-ndjson" ? JSONValue.array(values) : values.first ?? .null
        for (key, expected) in probe.members {
            let value = key.hasPrefix("/") ? answer.value(at: key) : answer[key]
            #expect((value ?? .null) == expected, "\(probe): \(key)")
        }
        for name in probe.names { #expect(answer[name]?.isNull == false, "\(probe): \(name)") }
        guard let pointers = probe.pointers else { return }
        #expect(Set((answer["errors"] ?? .null).elements.compactMap { $0["pointer"]?.string }) == pointers, "\(probe)")
    }

    private static func prepare(_ messages: [Message], _ server: ConformanceServer) async throws {
        for message in messages {
            let reply = try await server.send(message)
            try #require(reply.status < 300, "\(message.target): \(reply.text)")
        }
    }
}

extension JSONValue {
    /// The value at a JSON Pointer without escapes.
    fileprivate func value(at pointer: String) -> JSONValue? {
        pointer.split(separator: "/").reduce(JSONValue?.some(self)) { value, step in
            guard case .array(let elements)? = value else { return value?[String(step)] }
            return Int(step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        }
    }
}

/// The check must fail where a response differs from the document.
@Suite struct ConformanceCheckTests {
    private static func faults(of reply: Reply, of operation: String = "getActivity") -> [String] {
        var conformance = Conformance(.embedded)
        return conformance.check(reply, of: operation)
    }

    private static func reply(_ status: Int, _ mediaType: String?, _ body: JSONValue?) -> Reply {
        var fields: HTTPFields = [.cacheControl: "no-store"]
        fields[HTTPField.Name("Request-Id")!] = "r-1"
        fields[.contentType] = mediaType
        return Reply(status: status, fields: fields, body: body?.jsonBytes ?? [])
    }

    private static let problem: JSONObject = [
        "type": "urn:push-token-registry:problem:activity-not-found", "title": "The activity is unknown", "status": 404,
        "detail": "Nothing is known of it.", "code": "activity-not-found", "requestId": "r-1",
    ]

    private static func refusal(_ changes: JSONObject) -> Reply {
        var members = problem
        for change in changes { members[change.key] = change.value }
        return reply(404, "application/problem+json", .object(members))
    }

    @Test func `A documented response passes and is counted`() {
        var conformance = Conformance(.embedded)
        #expect(conformance.check(Self.refusal([:]), of: "getActivity") == [])
        #expect(conformance.given.map(\.description) == ["getActivity 404 activity-not-found"])
        #expect(conformance.given.isSubset(of: conformance.documented))
        #expect(conformance.check(Self.reply(204, nil, nil), of: "endActivity") == [])
    }

    @Test(
        arguments: [
            ["status": 405], ["code": "superseded"], ["code": "unheard-of"], ["title": "Oh"], ["type": "about:blank"],
            ["requestId": "r-2"], ["detail": .null], ["more": 1], ["observedAt": "yesterday"],
        ] as [JSONObject]
    )
    func `A problem that contradicts the document or itself is a fault`(changes: JSONObject) {
        #expect(Self.faults(of: Self.refusal(changes)) != [])
    }

    @Test func `Another status, media type or body is a fault`() {
        #expect(Self.faults(of: Self.reply(418, nil, nil)) == ["the status 418 is not documented"])
        #expect(Self.faults(of: Self.reply(404, "application/json", .object(Self.problem))) != [])
        #expect(Self.faults(of: Self.reply(404, "application/problem+json", nil)) != [])
        #expect(Self.faults(of: Self.reply(200, "application/json", ["activityId": "x"])) != [])
        #expect(Self.faults(of: Self.reply(204, nil, [:]), of: "endActivity") == ["the body is not empty"])
    }

    @Test(arguments: ["Request-Id", "Cache-Control"]) func `A missing or wrong header is a fault`(name: String) throws {
        var reply = Self.reply(204, nil, nil)
        reply.fields[try #require(HTTPField.Name(name))] = nil
        #expect(Self.faults(of: reply, of: "endActivity") == ["the header \(name) is missing"])
        reply = Self.reply(204, nil, nil)
        reply.fields[.cacheControl] = "public"
        #expect(Self.faults(of: reply, of: "endActivity") != [])
    }
}
