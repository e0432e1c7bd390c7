import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

@Suite(.timeLimit(.minutes(5))) struct TokenToRequestTests {
    @Test func `A token waits only for the file before its request is sent`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let transport = InstantTransport()
        var configuration = LiveActivityRegistry.Configuration.test()
        configuration.storage = FileStorage(file: folder.appendingPathComponent("reports.json"))
        configuration.clock = SystemClock()
        configuration.transport = HTTPTransport(
            send: { _ in
                transport.arrive()
                return TransportResponse.registered.result
            },
            submitInBackground: { _ in }
        )
        let registry = LiveActivityRegistry(configuration)
        registry.activate()
        var delays: [Duration] = []
        for number in 0..<500 {
            let begin = ContinuousClock.now
            registry.report(.token(String(format: "%0160x", number)))
            delays.append(await transport.nextRequest() - begin)
            while registry.status.waiting > 0 { await pause() }
        }
        delays.sort()
        print("figure: from a token to its request, \(delays.count) times: median \(delays[250]), p99 \(delays[495])")
        #expect(delays[250] < .milliseconds(50))
    }
}

private struct InstantTransport: Sendable {
    private let times: AsyncStream<ContinuousClock.Instant>
    private let continuation: AsyncStream<ContinuousClock.Instant>.Continuation

    init() { (times, continuation) = AsyncStream.makeStream() }

    func arrive() { continuation.yield(.now) }

    func nextRequest() async -> ContinuousClock.Instant {
        for await time in times { return time }
        fatalError("nothing is sent any more")
    }
}
