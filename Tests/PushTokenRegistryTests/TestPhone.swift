import PushTokenRegistryTestSupport

@testable import PushTokenRegistry

/// A client on a simulated phone. The phone keeps its state when the client is launched again.
final class TestPhone: Sendable {
    let storage: TestStorage
    let installationIDs: TestInstallationIDStore
    let transport = TestTransport()
    let clock: TestClock
    let system = FakePhone()
    let type = FakeType()
    let registry: LiveActivityRegistry
    let log = LockedValue<[String]>([])

    init(
        storage: TestStorage = TestStorage(),
        installationIDs: TestInstallationIDStore = TestInstallationIDStore("i-1"),
        clock: TestClock = TestClock(),
        isStarted: Bool = true,
        _ configure: (inout LiveActivityRegistry.Configuration) -> Void = { _ in }
    ) {
        (self.storage, self.installationIDs, self.clock) = (storage, installationIDs, clock)
        var configuration = LiveActivityRegistry.Configuration.test(
            storage: storage,
            installationIDs: installationIDs,
            transport: transport,
            clock: clock
        )
        configuration.writeLog = { [log] _, text in log.withLock { $0.append(text) } }
        configure(&configuration)
        registry = LiveActivityRegistry(configuration)
        if isStarted { registry.activate() }
    }

    func relaunched() -> TestPhone { TestPhone(storage: storage, installationIDs: installationIDs, clock: clock) }

    @discardableResult
    func answer(_ answer: TransportResponse = .registered) async -> TestTransport.Call {
        let call = await transport.next()
        call.answer(answer)
        return call
    }

    func isQuiet() async -> Bool {
        await registry.drain()
        return await registry.state.outbox.underWay.isEmpty
    }
}

/// A simulated phone with a watching app that passes its reports to the test.
final class WatchedPhone: Sendable {
    let phone: FakePhone
    let type: FakeType
    let clock = TestClock()
    let watch: ActivityWatch
    let sink = TestSink()

    init(phone: FakePhone = FakePhone(), type: FakeType = FakeType()) {
        (self.phone, self.type) = (phone, type)
        watch = ActivityWatch(system: phone, clock: clock, sink: sink)
        watch.follow(type)
    }

    static func launched(_ type: FakeType = FakeType(), phone: FakePhone = FakePhone()) -> WatchedPhone {
        let watched = WatchedPhone(phone: phone, type: type)
        watched.watch.start()
        return watched
    }

    /// An app that has reported its first list.
    ///
    /// - Parameter count: the number of tokens at launch, which are reported before the clock advances.
    static func settled(_ type: FakeType = FakeType(), tokens count: Int = 0) async -> WatchedPhone {
        let watched = launched(type)
        for _ in 0..<count { _ = await watched.next() }
        watched.clock.advance(by: 10)
        while !(await watched.next().report.isFullState) {}
        return watched
    }

    /// Enters the foreground, and returns once the watch has handled all transitions.
    func settleTransitions() async {
        phone.enterForeground()
        while !(await next().report.isFullState) {}
    }

    func next() async -> TimedReport { await sink.next() }
}

/// A report with the time of its observation, in seconds since the test began.
struct TimedReport: Sendable, Equatable {
    let report: Report
    let seconds: Double
}

/// The client of a watch.
actor TestSink: ReportSink {
    nonisolated let uploads = LockedValue(0)
    nonisolated let isIdle = LockedValue(true)
    private nonisolated let hasWidgetToken = LockedValue(false)
    private let reports = AsyncStream.makeStream(of: TimedReport.self)

    nonisolated func report(_ report: Report, at time: DeviceTime?) {
        if case .installationToken(.widget, let token) = report {
            // A phone without widgets reports that at each launch, and the client drops it.
            let isNews = hasWidgetToken.withLock { hasToken in
                defer { hasToken = token != nil }
                return hasToken || token != nil
            }
            guard isNews else { return }
        }
        let seconds = time.map { Double(($0.wall - .at(0)).milliseconds) / 1000 } ?? 0
        reports.continuation.yield(TimedReport(report: report, seconds: seconds))
    }

    nonisolated func retryNow() {}
    func isIdle(until uptime: Duration) async -> Bool { isIdle.withLock { $0 } }
    func submitBackgroundUploads() async { uploads.withLock { $0 += 1 } }

    func next() async -> TimedReport {
        for await report in reports.stream { return report }
        fatalError("waited in vain")
    }
}

extension Report {
    var isFullState: Bool { subject == .fullState }
    var listed: [String]? { if case .fullState(let activities) = self { activities.map(\.activityID) } else { nil } }

    var registered: String? {
        guard case .registration(let registration) = self, let token = registration.token else { return nil }
        return "\(registration.activityID) \(String(decoding: token.bytes, as: UTF8.self))"
    }

    /// A start token as text; `-` if it is removed.
    var startToken: String? {
        guard case .startToken(_, let token) = self else { return nil }
        return token.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "-"
    }
}
