import PostgresDriver
import RegistryStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(15))) struct StreamTests {
    private static let count = TestScale.isLong ? 1_000_000 : 50_000

    @Test func `A stream is complete in bounded memory`() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let scope = try await database.scope()
        let all = BulkActivities(name: "activity", numbers: 1...Int64(Self.count), kind: "matchId", alias: "'m'::text")
        try await all.insert(into: database, scope)
        let service = try await ServiceProcess.start(on: database)
        let before = service.peakMemory
        let clock = ContinuousClock()
        let start = clock.now
        let lines = try await CountedLines.read(service.lines(of: "aliases/matchId/m/activities"))
        let duration = clock.now - start
        #expect(lines.count == Self.count + 2)
        #expect(lines.last == #"{"end":true,"count":\#(Self.count)}"#)
        print(
            "figure: stream of \(Self.count): \(duration), peak memory \(before) MiB before, \(service.peakMemory) MiB after"
        )
        #expect(service.peakMemory < before + 64)
        try await stalledReadersCostOnlyTheirConnection(service, database)
        await service.stop()
    }

    private func stalledReadersCostOnlyTheirConnection(_ service: ServiceProcess, _ database: TestDatabase) async throws
    {
        let before = service.peakMemory
        // 32 readers, twice the service's connections to Postgres, read only the first bytes.
        var readers: [RawConnection] = []
        for _ in 0..<32 { readers.append(try await service.stalledReader(of: "aliases/matchId/m/activities")) }
        for _ in 0..<20 {
            let page = try await service.call("GET", "\(ServiceProcess.app)/aliases/matchId/m/activities?limit=10")
            #expect(page.status == 200)
        }
        #expect(try await database.busyConnections() <= 2)
        #expect(service.peakMemory < before + 64)
        print("figure: 32 stalled readers: \(service.peakMemory - before) MiB more")
        withExtendedLifetime(readers) {}
    }
}
