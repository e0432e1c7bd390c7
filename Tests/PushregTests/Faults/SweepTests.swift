import PostgresDriver
import RegistryStore
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct SweepTests {
    private static let count = TestScale.isLong ? 1_000_000 : 20_000
    private static let callers = 64
    private static let callsAWindow = TestScale.isLong ? 20_000 : 2000

    @Test func `A sweep does not change the responses of 64 callers`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let service = try await ServiceProcess.start(on: database, "--sweep-interval", "PT1S")
        let callers = Callers(service: service, count: Self.callers)
        // Only a long run compares times. Its first window warms up the service and Postgres.
        var (quiet, during): ([Duration], [Duration]) = ([], [])
        for _ in 0..<4 where TestScale.isLong { quiet.append(await callers.window(calls: Self.callsAWindow)) }
        try await Self.fill(database, scope)
        let start = ContinuousClock.now
        repeat {
            let p99 = await callers.window(calls: Self.callsAWindow)
            // The last window may be after the sweep.
            if try await Self.unswept(database) > 0 || during.isEmpty { during.append(p99) }
        } while try await Self.unswept(database) > 0
        let rate = Double(Self.count) / ((ContinuousClock.now - start) / .seconds(1))
        #expect(callers.faults == [])
        #expect(try await database.count("SELECT count(*) FROM events WHERE type = 'expired'") == Self.count)
        print("figure: sweep of \(Self.count) beside \(Self.callers) callers: \(Int(rate)) rows/s")
        if TestScale.isLong {
            let medians = [quiet.dropFirst(), during[...]].map { $0.sorted()[$0.count / 2] }
            print(
                "figure: p99 \(medians[0]) quiet, \(medians[1]) during, medians of windows of \(Self.callsAWindow) calls"
            )
            #expect(medians[1] / medians[0] <= 1.5)
        }
        await service.stop()
    }

    /// The number of expired activities without an event, up to a small limit.
    private static func unswept(_ database: TestDatabase) async throws -> Int {
        try await database.count(
            """
            SELECT count(*) FROM (
                SELECT FROM activities WHERE ended_at IS NULL AND expiry_recorded_at IS NULL AND expires_at <= now() LIMIT 10
            ) AS expired
            """
        )
    }

    /// Adds activities that expired an hour ago, ten per alias that a caller resolves.
    private static func fill(_ database: TestDatabase, _ scope: Scope) async throws {
        let alias = "CASE WHEN n <= \(callers * 10) THEN 'sweep-' || n % \(callers) ELSE 'old-' || n END"
        let (numbers, age) = (1...Int64(count), "interval '9 hours'")
        try await BulkActivities(name: "expired", numbers: numbers, kind: "testId", alias: alias, age: age)
            .insert(into: database, scope)
    }
}

/// Callers that alternate registering and resolving, each with its own activity and alias.
private final class Callers: Sendable {
    private let service: ServiceProcess
    private let count: Int
    private let state = Mutex<(durations: [Duration], faults: Set<String>)>(([], []))

    init(service: ServiceProcess, count: Int) { (self.service, self.count) = (service, count) }

    var faults: Set<String> { state.withLock { $0.faults } }

    func window(calls: Int) async -> Duration {
        state.withLock { $0.durations = [] }
        await withTaskGroup(of: Void.self) { group in
            for caller in 0..<count {
                group.addTask { for _ in 0..<(calls / self.count / 2) { await self.registerAndResolve(caller) } }
            }
        }
        return state.withLock { state in
            let sorted = state.durations.sorted()
            return sorted.isEmpty ? .zero : sorted[sorted.count * 99 / 100]
        }
    }

    private func registerAndResolve(_ caller: Int) async {
        do {
            let written = try await service.register("live-\(caller)", number: caller, alias: "sweep-\(caller)")
            note(written, if: [200, 201].contains(written.status), "register \(written.status)")
            let path = "\(ServiceProcess.app)/aliases/testId/sweep-\(caller)/activities?limit=10"
            let read = try await service.call("GET", path)
            let isRight = read.body.contains(#""activityId":"live-\#(caller)""#) && !read.body.contains("expired-")
            note(read, if: read.status == 200 && isRight, "resolve \(read.status), right: \(isRight)")
        } catch { _ = state.withLock { $0.faults.insert("\(error)") } }
    }

    private func note(_ answer: ServiceProcess.Answer, if isRight: Bool, _ fault: String) {
        state.withLock { state in
            state.durations.append(answer.duration)
            if !isRight { state.faults.insert(fault) }
        }
    }
}
