import PushTokenRegistryTestSupport

@testable import PushTokenRegistry

/// An outbox with the test's clock, random numbers and responses.
final class PlayedOutbox {
    var outbox = Outbox()
    var events: [LiveActivityRegistry.Event] = []
    /// The events of responses.
    var told: [LiveActivityRegistry.Event] = []
    var running: Set<String> = []
    var jitter = 1.0
    var isCorrected = false
    private var lastID: UInt64 = 0
    /// Seconds since the test began.
    var now = 0.0
    var uptime: Duration { .seconds(now) }

    func add(_ report: Report, at seconds: Double, by owner: Owner = .installation) {
        // Powers of two, so that each merged entry has its own id.
        lastID = lastID == 0 ? 1 : lastID &* 2
        if lastID == 0 { lastID = 3 }
        events += outbox.add(OutboxEntry(id: lastID, report: report, observedAt: .at(seconds), owner: owner))
    }

    func sent() -> [OutboxEntry] {
        var sent: [OutboxEntry] = []
        while case .send(let entry) = outbox.next(at: uptime) { sent.append(entry) }
        return sent
    }

    func send() -> OutboxEntry? { if case .send(let entry) = outbox.next(at: uptime) { entry } else { nil } }

    /// - Parameter authority: the credential of the request; nil means the owner's.
    func answer(_ entry: OutboxEntry, _ responseClass: ResponseClass, authority: Owner? = nil) {
        let running = running
        let circumstances = Outbox.Circumstances(
            authority: authority ?? entry.owner,
            uptime: uptime,
            time: .at(now),
            jitter: jitter,
            runs: { running.contains($0.registration?.activityID ?? "") }
        )
        var entry = entry
        if isCorrected { entry.observedAt = .distantPast }
        told += outbox.settle(entry, responseClass, circumstances)
    }

    func answerAll(_ responseClass: ResponseClass) { for entry in sent() { answer(entry, responseClass) } }

    /// The time until the next entry; nil if one can go now, or if all wait for something else.
    var pause: Double? {
        guard case .wait(let time) = outbox.upcoming(at: uptime) else { return nil }
        return Double((time - uptime).milliseconds) / 1000
    }

    var keys: [LiveActivityRegistry.Subject] { outbox.entries.map(\.subject) }
}

extension PushToken {
    init(hex: String) {
        self.init(
            stride(from: 0, to: hex.count, by: 2).map { start in
                return UInt8(String(Array(hex)[start..<start + 2]), radix: 16) ?? 0
            }
        )
    }
}

extension Report {
    static func token(_ hex: String, of activityID: String = "a-1") -> Report {
        .registration(ActivityRegistration(activityID: activityID, token: PushToken(hex: hex)))
    }

    static func end(_ activityID: String = "a-1", isDismissal: Bool = false) -> Report {
        .end(activityID: activityID, isDismissal: isDismissal)
    }

    static func start(_ hex: String?, of attributesType: String = "Delivery") -> Report {
        .startToken(attributesType: attributesType, hex.map(PushToken.init(hex:)))
    }

    var token: String? {
        if case .registration(let registration) = self { registration.token?.hexadecimal } else { nil }
    }

    var registration: ActivityRegistration? {
        if case .registration(let registration) = self { registration } else { nil }
    }
}

extension ResponseClass {
    static func problem(_ status: Int, _ code: String) -> ResponseClass {
        .refused(status: status, Problem(code: .init(rawValue: code), detail: "Because."))
    }
}
