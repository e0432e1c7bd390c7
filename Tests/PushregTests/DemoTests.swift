import HTTPTypes
import Logging
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct DemoTests {
    @Test func `The demo plays to its end`() async throws {
        let outcome = try await Program.run(["demo", "--quick"])
        #expect(outcome.status == 0, "\(outcome.results) \(outcome.words)")
        #expect(outcome.results.hasSuffix("All responses are as expected.\n"))
        #expect(outcome.results.contains(#/registrations in [0-9]+\.[0-9]{2} s\n/#), "\(outcome.results)")
        #expect(outcome.results.contains(#/POST \S+/feedback .*"status":410/#), "\(outcome.results)")
    }

    @Test func `The demo plays on a running service`() async throws {
        let database = try await TestDatabase.make()
        let service = try await ServiceProcess.start(on: database)
        let url = "http://127.0.0.1:\(service.port)/"
        let outcome = try await Program.run(["demo", "--quick", "--url", url])
        #expect(outcome.status == 0, "\(outcome.results) \(outcome.words)")
        #expect(await service.stop() == 0)
    }

    @Test(arguments: [
        ("http://127.0.0.1:9", "pushreg: No service answers at http://127.0.0.1:9: Connection refused.\n"),
        ("http://nowhere.invalid", "pushreg: No service answers at http://nowhere.invalid.\n"),
    ])
    func `A missing service gets a clear message`(_ url: String, _ sentence: String) async throws {
        let outcome = try await Program.run(["demo", "--url", url])
        #expect(outcome.status == 69)
        #expect(outcome.words == sentence)
    }

    /// The service's statuses (503 several times, then 404), the number of attempts, and the demo's message.
    @Test(arguments: [(1, 2, 1, "the app exists"), (.max, 6, 69, "keeps responding with 503")])
    func `An unavailable service is retried a few times`(
        _ faults: Int,
        _ calls: Int,
        _ status: Int32,
        _ sentence: String
    ) async throws {
        let answered = Mutex(0)
        let configuration = ServerConfiguration(port: 0)
        try await serve {
            try Listener(configuration, logger: Logger(label: "test"), onServing: $0) { _ in
                let number = answered.withLock { count in
                    count += 1
                    return count
                }
                return Response(status: number <= faults ? .serviceUnavailable : .notFound)
            }
        } _: { port in
            let outcome = try await Program.run(["demo", "--url", "http://127.0.0.1:\(port)"])
            #expect(outcome.status == status)
            #expect(outcome.words.contains(sentence), "\(outcome.words)")
        }
        #expect(answered.withLock { $0 } == calls)
    }
}
