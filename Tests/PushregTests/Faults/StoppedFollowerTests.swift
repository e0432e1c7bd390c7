import AsyncHTTPClient
import PostgresDriver
import RegistryStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(20))) struct StoppedFollowerTests {
    /// The changes, about 70 MiB of lines. 32 followers share them; separate copies would take two gigabytes.
    private static let count = TestScale.isLong ? 1_000_000 : 300_000

    @Test func `Stopped followers cost little memory, no connection and no delay`() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let scope = try await database.scope()
        let service = try await ServiceProcess.start(on: database)
        // The cost of an active follower is not part of the measurement.
        try await Self.change(1, Self.count, database, scope, followedAt: service)
        let before = service.peakMemory
        var stopped: [RawConnection] = []
        for _ in 0..<32 { stopped.append(try await service.stalledReader(of: "changes")) }
        try await Self.change(Self.count + 1, 2 * Self.count, database, scope, followedAt: service)
        #expect(try await database.busyConnections() <= 2)
        #expect(service.peakMemory < before + 64)
        print("figure: 32 stopped followers, \(Self.count) changes: \(service.peakMemory - before) MiB more")
        withExtendedLifetime(stopped) {}
        await service.stop()
    }

    private static func change(
        _ first: Int,
        _ last: Int,
        _ database: TestDatabase,
        _ scope: Scope,
        followedAt service: ServiceProcess
    ) async throws {
        var (lines, hasBegun) = (CountedLines(), false)
        for try await chunk in try await service.lines(of: "changes") {
            lines.add(chunk)
            if !hasBegun {
                hasBegun = true
                try await insert(first, last, database, scope)
            }
            if lines.count > last - first { break }
        }
        #expect(lines.count > last - first)
    }

    private static func insert(_ first: Int, _ last: Int, _ database: TestDatabase, _ scope: Scope) async throws {
        _ = try await database.pool.withSession(.never, timeout: .seconds(300)) { session in
            try session.simple("SET statement_timeout = 0")
            return try session.execute(
                """
                INSERT INTO events (scope_id, drop_on, type, who, activity_id, aliases)
                SELECT \(scope.id), current_date + 9, 'rotated', 'test', 'activity-' || n,
                    jsonb_build_object('liveactivityId', jsonb_build_array('order-' || n))
                FROM generate_series(\(Int64(first))::bigint, \(Int64(last))) AS n
                """
            ).affectedRows
        }
    }
}
