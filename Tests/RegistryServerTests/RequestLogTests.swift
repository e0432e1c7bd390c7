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

    @Test func `A line names the request and the trace`() {
        let log = RecordedLog()
        #expect(Self.answer(Self.refusal, Self.trace, log.logger).status.code == 409)
        for word in ["r-1", "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", #""status": 409"#, "GET"] {
            #expect(log.text.contains(word), "\(word): \(log.text)")
        }
    }

    @Test func `A line without a trace names none`() {
        let log = RecordedLog()
        Self.answer(.success(.noContent), nil, log.logger)
        #expect(log.text.contains("r-1") && !log.text.contains("trace-id"))
    }

    @Test func `A line about a fault names the request and the trace`() {
        struct Fault: Error {}
        let log = RecordedLog()
        var logger = log.logger
        logger.logLevel = .error
        #expect(Self.answer(.failure(Fault()), Self.trace, logger).status.code == 500)
        #expect(log.text.contains("Fault") && log.text.contains("4bf92f3577b34da6a3ce929d0e0e4736"))
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
    @Test(arguments: [
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be-like",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ])
    func `A traceparent is read`(_ text: String) {
        #expect(TraceParent(text)?.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(TraceParent(text)?.parentID == "00f067aa0ba902b7")
    }

    @Test(arguments: [
        "", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
        "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "é0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
    ])
    func `A malformed traceparent is ignored`(_ text: String) { #expect(TraceParent(text) == nil) }
}
