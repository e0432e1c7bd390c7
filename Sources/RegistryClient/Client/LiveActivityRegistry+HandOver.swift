extension LiveActivityRegistry {
    /// Hands what waits for an answer to the system, which sends it while the app sleeps or is dead (C19).
    ///
    /// `RegistryLiveActivities` does so by itself. An app that uses `RegistryClient` alone calls it when it goes to the background,
    /// within a background task of its own. It returns once the system has all.
    ///
    /// It settles nothing: what was handed over goes out again when the app runs, and the registry knows it by its time.
    public nonisolated func handOver() async {
        await caughtUp()
        await handOverWaiting()
    }

    private func handOverWaiting() async {
        let entries = outbox.toHandOver
        guard isStarted, let installationID, entries.map(\.id) != handedOver else { return }
        handedOver = entries.map(\.id)
        // As with all that goes out: the registry may accept these times, whatever becomes of the clock.
        for entry in entries { clock.sends(entry.observedAt) }
        stored.isBehind = true
        save()
        // The file may have told what another process did.
        let waiting = entries.compactMap { entry in outbox.entries.first { $0.id == entry.id } }
        var requests: [TransportRequest] = []
        for delivery in waiting.compactMap({ delivery(of: $0, installationID) }) {
            if let delivery = await delivery() { requests.append(delivery.request) }
        }
        await configuration.transport.handOver(requests)
    }

    /// The app itself sends from now on.
    func takeBack() {
        handedOver = []
        Task { [transport = configuration.transport] in await transport.handOver([]) }
    }
}
