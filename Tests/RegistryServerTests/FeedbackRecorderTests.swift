import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct FeedbackRecorderTests {
    private let metrics = RecordedMetrics()
    private let clock = ManualClock()
    private let log = RecordedLog()

    private var recorder: FeedbackRecorder {
        FeedbackRecorder(clock: clock.clock, logger: log.logger, metrics: metrics)
    }

    @Test func `Unknown reasons are counted as other`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let reports = [
            FeedbackReport(token: .sample(1), status: 400, reason: "BadDeviceToken"),
            FeedbackReport(token: .sample(2), status: 400, reason: "BadDeviceToken"),
            FeedbackReport(token: .sample(3), status: 400, reason: "ReasonOfTomorrow"),
            FeedbackReport(token: .sample(4), status: 403, reason: "BadEnvironmentKeyInToken"),
            FeedbackReport(token: .sample(5), status: 200),
        ]
        let outcome = try await database.registry.apply(reports, in: scope, by: "test")
        recorder.record(outcome, of: reports, in: scope)
        #expect(count("BadDeviceToken") == 2 && count("other") == 1 && count("none") == 1)
        #expect(count("BadEnvironmentKeyInToken") == 1)
        #expect(log.lines == [])
    }

    @Test func `A guard that trips is counted, and logged once a minute`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        for number in 1...10 {
            try await database.registry.registerSample("a\(number)", token: number, minutesAgo: 5, in: scope)
        }
        let reports = (1...10).map { FeedbackReport(token: .sample($0), status: 400, reason: "BadDeviceToken") }
        let outcome = try await database.registry.apply(reports, in: scope, by: "test")
        #expect(outcome.trippedKinds == ["update"])
        let recorder = recorder
        recorder.record(outcome, of: reports, in: scope)
        recorder.record(outcome, of: reports, in: scope)
        #expect(metrics.counter(.guardTrips).value == 2)
        #expect(log.lines.count == 1)
        let token = Hexadecimal.encode(PushToken.sample(1).bytes)
        #expect(log.lines[0].contains("com.example.food") && !log.lines[0].contains(token.prefix(16)))
        clock.advance(by: .seconds(60))
        recorder.record(outcome, of: reports, in: scope)
        #expect(log.lines.count == 2)
        #expect(try await database.registry.quarantineGuards(of: scope.app).map(\.kind) == ["update"])
    }

    private func count(_ reason: String) -> Int {
        metrics.counter(.feedback, [("action", "unknown"), ("reason", reason)]).value
    }
}
