import Foundation
import RegistryCore
import Testing

@Suite(.serialized, .timeLimit(.minutes(15))) struct OutageTests {
    /// The request timeout is 2 s: at most 2 s for a worker and 2 s for Postgres. The rest is for a busy machine.
    private let deadline = Duration.seconds(6)

    enum Fault: String, CaseIterable {
        case stopped, frozen, crashed

        func begin(_ cluster: FaultCluster) async {
            switch self {
            case .stopped: await cluster.stop()
            case .frozen: await cluster.signal(SIGSTOP)
            case .crashed: await cluster.crash()
            }
        }

        func end(_ cluster: FaultCluster) async throws {
            if self == .frozen { await cluster.signal(SIGCONT) } else { try await cluster.start() }
        }
    }

    @Test(arguments: Fault.allCases)
    func `An outage of Postgres loses no acknowledged write`(_ fault: Fault) async throws {
        let cluster = FaultCluster()
        let service = try await ServiceProcess.start(
            databaseURL: try await cluster.start(),
            arguments: ["--request-timeout", "PT2S"]
        )
        try await service.makeApp()
        #expect(try await service.register("before", number: 1).status == 201)
        #expect(try await service.call("GET", "/readyz").status == 200)
        await fault.begin(cluster)
        try await callersAreRefusedInTime(by: service)
        try await fault.end(cluster)
        try await recovers(service)
        #expect(try await service.register("before", number: 1).status == 200)
        await service.stop()
        await cluster.remove()
    }

    private func callersAreRefusedInTime(by service: ServiceProcess) async throws {
        try await withThrowingTaskGroup(of: [ServiceProcess.Answer].self) { group in
            for caller in 0..<32 {
                group.addTask {
                    var answers: [ServiceProcess.Answer] = []
                    for number in 0..<3 {
                        answers.append(try await service.register("during-\(caller)-\(number)", number: 100 + caller))
                    }
                    return answers
                }
            }
            var live: [ServiceProcess.Answer] = []
            for _ in 0..<3 { live.append(try await service.call("GET", "/livez")) }
            #expect(live.allSatisfy { $0.status == 200 })
            // The fastest of three, because other work on the machine can delay one.
            #expect(live.contains { $0.duration < .seconds(1) })
            // Readiness results are shared for 100 ms.
            var ready = try await service.call("GET", "/readyz")
            while ready.status == 200 { ready = try await service.call("GET", "/readyz") }
            #expect(ready.status == 503)
            #expect(ready.duration < deadline)
            for try await answers in group {
                for answer in answers {
                    #expect(answer.status == 503)
                    #expect(answer.header("retry-after") != nil)
                    #expect(answer.duration < deadline)
                }
            }
        }
    }

    /// The service must recover within 15 s, by the requests of its callers alone.
    private func recovers(_ service: ServiceProcess) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        while try await service.register("after", number: 2).status >= 500 {
            guard clock.now - start < .seconds(15) else {
                Issue.record("no recovery within 15 s")
                return
            }
        }
        #expect(try await service.call("GET", "/readyz").status == 200)
    }
}
