import Logging
import MetricsTestKit
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

/// The facts that an operator learns of feedback: counts by action and reason, and a notice when a burst guard trips.
@Suite(.timeLimit(.minutes(15))) struct FeedbackRecorderTests {
    private let metrics = TestMetrics()
    private let clock = ManualClock()
    private let notices = Notices()

    private var recorder: FeedbackRecorder {
        let notices = notices
        let logger = Logger(label: "test") { _ in NoticeHandler(notices: notices) }
        return FeedbackRecorder(clock: clock.clock, logger: logger, metrics: metrics)
    }

    @Test("Reasons that nobody knows are counted as other") func reasonsThatNobodyKnowsAreCountedAsOther() async throws
    {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        let reports = [
            FeedbackReport(token: .sample(1), status: 400, reason: "BadDeviceToken"),
            FeedbackReport(token: .sample(2), status: 400, reason: "BadDeviceToken"),
            FeedbackReport(token: .sample(3), status: 400, reason: "ReasonOfTomorrow"),
            FeedbackReport(token: .sample(4), status: 403, reason: "BadEnvironmentKeyInToken"),
            FeedbackReport(token: .sample(5), status: 200),
        ]
        let outcome = try await database.registry.apply(reports, in: scope, by: "test")
        recorder.record(outcome, of: reports, in: scope)
        #expect(try count("BadDeviceToken") == 2 && count("other") == 1 && count("none") == 1)
        #expect(try count("BadEnvironmentKeyInToken") == 1)
        #expect(notices.all == [])
    }

    @Test("A guard that trips is counted and said once a minute") func aGuardThatTripsIsCountedAndSaidOnceAMinute()
        async throws
    {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        for number in 1...10 {
            let registration = ActivityRegistration.sample(token: .sample(number), observedAt: .minutesAgo(5))
            _ = try await database.registry.register(registration, as: .sample("a\(number)"), in: scope, by: "test")
        }
        let reports = (1...10).map { FeedbackReport(token: .sample($0), status: 400, reason: "BadDeviceToken") }
        let outcome = try await database.registry.apply(reports, in: scope, by: "test")
        #expect(outcome.trippedKinds == ["update"])
        let recorder = recorder
        recorder.record(outcome, of: reports, in: scope)
        recorder.record(outcome, of: reports, in: scope)
        #expect(try metrics.expectCounter("pushreg_quarantine_guard_trips_total").values.reduce(0, +) == 2)
        #expect(notices.all.count == 1)
        let token = Hexadecimal.encode(PushToken.sample(1).bytes)
        #expect(notices.all[0].contains("com.example.food") && !notices.all[0].contains(token.prefix(16)))
        clock.advance(by: .seconds(60))
        recorder.record(outcome, of: reports, in: scope)
        #expect(notices.all.count == 2)
        #expect(try await database.registry.quarantineGuards(of: scope.app).map(\.kind) == ["update"])
    }

    private func count(_ reason: String) throws -> Int64 {
        try metrics.expectCounter("pushreg_feedback_total", [("action", "unknown"), ("reason", reason)]).values
            .reduce(0, +)
    }
}

/// The lines that were logged at the level of a notice or above.
private final class Notices: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

private struct NoticeHandler: LogHandler {
    let notices: Notices
    var logLevel = Logger.Level.notice
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { notices.add("\(event.message) \(event.metadata ?? [:])") }
}
