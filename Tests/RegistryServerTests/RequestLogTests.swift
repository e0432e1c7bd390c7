import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct RequestLogTests {
    private static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @discardableResult
    private static func answer(
        _ result: Result<Response, any Error>,
        _ traceparent: String?,
        _ logger: Logger
    ) -> Response {
        var head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
        head.headerFields = [RequestID.field: "r-1"]
        head.headerFields[TraceParent.field] = traceparent
        let request = Request(head: head, body: .none, connection: .init(EmbeddedChannel()), start: .now())
        let registry = Registry.away(within: .seconds(1))
        return RegistryResponder(registry: registry, configuration: ServerConfiguration(port: 0), logger: logger)
            .response(result, to: request, nil)
    }

    private static let refusal: Result<Response, any Error> = .failure(Problem(.superseded, "A later one is current."))

    private struct Fault: Error {}

    @Test(
        arguments: [
            (.success(.noContent), nil, .trace, 204, ["r-1"]),
            (refusal, trace, .trace, 409, ["r-1", "4bf92f35", "00f067aa0ba902b7", #""status": 409"#, "GET"]),
            (.failure(Fault()), trace, .error, 500, ["Fault", "4bf92f3577b34da6a3ce929d0e0e4736"]),
        ] as [(Result<Response, any Error>, String?, Logger.Level, Int, [String])]
    )
    func `A line names the request, the trace if there is one, and the fault`(
        _ result: Result<Response, any Error>,
        _ trace: String?,
        _ level: Logger.Level,
        _ status: Int,
        _ words: [String]
    ) {
        let log = RecordedLog()
        var logger = log.logger
        logger.logLevel = level
        #expect(Self.answer(result, trace, logger).status.code == status)
        for word in words { #expect(log.text.contains(word), "\(word): \(log.text)") }
        #expect(log.text.contains("trace-id") == (trace != nil))
    }

    @Test(arguments: [Result<Response, any Error>.success(.noContent), refusal])
    func `A line below the log level is not built`(_ result: Result<Response, any Error>) {
        let log = RecordedLog()
        var logger = log.logger
        logger.logLevel = .info
        Self.answer(result, Self.trace, logger)
        #expect(log.changes == 0)
    }

    @Test func `Live requests are logged`() async throws {
        let log = RecordedLog()
        try await ServiceTrait.service.run(logger: log.logger) { server in
            for number in 1...2 {
                let trace = "00-\(String(repeating: "\(number)", count: 32))-00f067aa0ba902b7-01"
                let fields: HTTPFields = [TraceParent.field: trace, RequestID.field: "r-\(number)"]
                let path = "…/aliases/orderId/secret-42/activities"
                let reply = try await server.call(.get, path, nil, fields)
                #expect(reply.status == 200)
                #expect(log.text.contains(String(repeating: "\(number)", count: 32)))
                #expect(log.text.contains("r-\(number)"))
            }
            #expect(!log.text.contains("secret-42"))
        }
    }
}

@Suite struct TraceParentTests {
    private static let ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"

    @Test(arguments: ["00-\(ids)-01", "00-\(ids)-ff", "01-\(ids)-01-what-the-future-will-be-like", "cc-\(ids)-01"])
    func `A traceparent is read`(_ text: String) {
        #expect(TraceParent(text)?.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(TraceParent(text)?.parentID == "00f067aa0ba902b7")
    }

    @Test(arguments: [
        "", "00", "ff-\(ids)-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "00-\(ids)-01-more",
        "01-\(ids)-01.more", "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", "00-\(ids)-01, 00-\(ids)-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01", "é0-\(ids)-0",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    ])
    func `A malformed traceparent is ignored`(_ text: String) { #expect(TraceParent(text) == nil) }
}
