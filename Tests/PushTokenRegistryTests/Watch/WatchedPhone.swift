import PushTokenRegistryTestSupport
import PushTokenRegistry

/// A simulated phone with an app on it that watches, and that tells the test.
final class WatchedPhone: Sendable {
    let phone: FakePhone
    let type: FakeType
    let clock: TestClock
    let watch: ActivityWatch
    /// How often the rest was given to the system.
    let uploads = LockedValue(0)
    let isIdle = LockedValue(true)
    private let told = AsyncStream.makeStream(of: Told.self)
    private let iterator: ToldIterator

    /// A report that was told, and when it was observed, in seconds since the test began.
    struct Told: Sendable, Equatable {
        let report: Report
        let seconds: Double
    }

    init(phone: FakePhone = FakePhone(), type: FakeType = FakeType(), clock: TestClock = TestClock()) {
        (self.phone, self.type, self.clock) = (phone, type, clock)
        let continuation = told.continuation
        let sink = ReportSink(
            report: { report, time in
                let seconds = Double((time.wall - .at(0)).milliseconds) / 1000
                continuation.yield(Told(report: report, seconds: seconds))
            },
            retryNow: {},
            isIdle: { [isIdle] _ in isIdle.withLock { $0 } },
            submitBackgroundUploads: { [uploads] in uploads.withLock { $0 += 1 } }
        )
        watch = ActivityWatch(system: phone, clock: clock, sink: sink)
        watch.follow(type.followed)
        iterator = ToldIterator(told.stream)
    }

    /// An app that was just launched on a phone.
    static func launched(_ type: FakeType = FakeType(), phone: FakePhone = FakePhone()) -> WatchedPhone {
        let watched = WatchedPhone(phone: phone, type: type)
        watched.watch.start()
        return watched
    }

    /// An app that was launched long ago: its first list was told.
    ///
    /// - Parameter count: how many tokens the phone has at launch. They are told before the clock goes on.
    static func settled(_ type: FakeType = FakeType(), tokens count: Int = 0) async -> WatchedPhone {
        let watched = launched(type)
        for _ in 0..<count { _ = await watched.next() }
        watched.clock.advance(by: 10)
        while !(await watched.next().report.isFullState) {}
        return watched
    }

    /// The app is killed, and launched again.
    func relaunched() -> WatchedPhone {
        type.appDies()
        phone.appDies()
        let watched = WatchedPhone(phone: phone, type: type, clock: clock)
        watched.watch.start()
        return watched
    }

    /// Returns once the watch has handled all transitions so far: the next one is a foreground.
    func settleTransitions() async {
        phone.comesToForeground()
        while !(await next().report.isFullState) {}
    }

    /// The next thing that is told.
    func next() async -> Told { await iterator.next() }
}

/// One reader of a stream.
private actor ToldIterator {
    private let stream: AsyncStream<WatchedPhone.Told>

    init(_ stream: AsyncStream<WatchedPhone.Told>) { self.stream = stream }

    func next() async -> WatchedPhone.Told {
        for await told in stream { return told }
        fatalError("waited in vain")
    }
}

extension Report {
    var isFullState: Bool { subject == .fullState }

    /// The ids of a full state.
    var listed: [String]? {
        guard case .fullState(let activities) = self else { return nil }
        return activities.map(\.activityID)
    }

    /// A registration's id and token as text.
    var registered: String? {
        guard case .registration(let registration) = self, let token = registration.token else { return nil }
        return "\(registration.activityID) \(String(decoding: token.bytes, as: UTF8.self))"
    }

    /// A start token as text, `-` when it is taken back.
    var startToken: String? {
        guard case .startToken(_, let token) = self else { return nil }
        return token.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "-"
    }
}
