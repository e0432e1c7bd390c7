import Foundation

extension LiveActivityRegistry {
    private var oldest: Date? { outbox.entries.map(\.observedAt).min()?.date }

    /// Tells that reports wait, when nothing is under way, and something changed since it was told last.
    func tellWaiting() {
        guard outbox.underWay.isEmpty, stored.isLoaded, let oldest else { return }
        let event = RegistryEvent.waiting(count: outbox.entries.count, since: oldest)
        guard event != toldWaiting else { return }
        toldWaiting = event
        eventStreams.tell(event)
    }

    func show() {
        var status = RegistryStatus(environment: environment)
        status.waiting = outbox.entries.count + held.count
        status.waitingSince = oldest
        status.unreachableSince = outbox.silence?.since.date
        status.userID = user?.string
        status.isReady = stored.isLoaded && installationID != nil
        shownStatus.withLock { [status] in $0 = status }
    }
}
