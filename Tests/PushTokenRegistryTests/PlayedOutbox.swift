import PushTokenRegistryTestSupport

@testable import PushTokenRegistry

/// An outbox whose clock, numbers and answers are the test's.
final class PlayedOutbox {
    var outbox = Outbox()
    var events: [LiveActivityRegistry.Event] = []
    var effects: [Outbox.Effect] = []
    var running: Set<String> = []
    var jitter = 1.0
    var isCorrected = false
    var isSent = true
    private var lastID: UInt64 = 0
    /// Seconds since the test began.
    var now = 0.0
    var uptime: Duration { .seconds(now) }

    func add(_ report: Report, at seconds: Double, by owner: Owner = .installation) {
        // Powers of two, so that no merged entry has the id of another.
        lastID = lastID == 0 ? 1 : lastID &* 2
        if lastID == 0 { lastID = 3 }
        events += outbox.add(report, observedAt: .at(seconds), owner: owner, id: lastID)
    }

    func sent() -> [OutboxEntry] {
        var sent: [OutboxEntry] = []
        while case .send(let entry) = outbox.next(at: uptime) { sent.append(entry) }
        return sent
    }

    func send() -> OutboxEntry? {
        guard case .send(let entry) = outbox.next(at: uptime) else { return nil }
        return entry
    }

    /// - Parameter authority: the credential that it was sent by; nil is its owner's.
    func answer(_ entry: OutboxEntry, _ responseClass: ResponseClass, authority: Owner? = nil) {
        let running = running
        let circumstances = Outbox.Circumstances(
            authority: authority ?? entry.owner,
            uptime: uptime,
            time: .at(now),
            isCorrected: isCorrected,
            isSent: isSent,
            jitter: jitter,
            runs: { running.contains($0) }
        )
        effects += outbox.settle(entry.id, responseClass, circumstances)
    }

    /// Sends all, and answers all in the same way.
    func answerAll(_ responseClass: ResponseClass) { for entry in sent() { answer(entry, responseClass) } }

    /// How long it waits before the next one goes out; nil when something goes now, or it waits for something else.
    var pause: Double? {
        guard case .wait(let time) = outbox.upcoming(at: uptime) else { return nil }
        return Double((time - uptime).milliseconds) / 1000
    }

    var keys: [LiveActivityRegistry.Subject] { outbox.entries.map(\.subject) }
}
