import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The log reports an outage without a line for every failure.
@Suite struct RepeatedErrorsTests {
    @Test func `Repeated errors within a second are counted, not logged`() {
        let (errors, start) = (RepeatedErrors(), ContinuousClock.now)
        func at(_ milliseconds: Int, _ kind: String = "a") -> Int? {
            errors.admit(kind, now: start + .milliseconds(milliseconds))
        }
        #expect(at(0) == 0)
        #expect(at(1) == nil)
        #expect(at(999) == nil)
        #expect(at(999, "b") == 0)
        #expect(at(1000) == 2)
        #expect(at(1999) == nil)
        #expect(at(5000) == 1)
        #expect(at(7000) == 0)
    }

    @Test func `An outage logs one line per second`() async throws {
        let log = RecordedLog()
        let configuration = PostgresConfiguration(connectionString: "host=/nowhere-at-all", requestTimeout: .seconds(1))
        let pool = PostgresPool(configuration: configuration)
        let registry = Registry(pool: pool, logger: log.logger)
        let start = ContinuousClock.now
        for _ in 0..<50 {
            await #expect(throws: Problem.self) { try await registry.apps() }
        }
        let seconds = Int(start.duration(to: .now) / .seconds(1))
        await pool.shutdown()
        // One line at the start, and one per second for each of the few kinds of failure.
        #expect((1...3 * (seconds + 1)).contains(log.lines.count), "\(log.lines.count) lines in \(seconds) s")
        #expect(log.lines.allSatisfy { $0.contains("connectionFailed") }, "\(log.text)")
    }
}
