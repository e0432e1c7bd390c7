import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The timer for the next entry that waits.
struct Alarm: Sendable {
    let time: Duration
    let task: Task<Void, Never>
}

/// An entry with its request.
struct Delivery: Sendable {
    let entry: OutboxEntry
    let request: URLRequest
    let credential: String
    /// The source of the credential: the entry's owner, or the installation in place of a user.
    let authority: Owner
}

extension LiveActivityRegistry {
    /// Sends all that may go now. The file has each entry and its time before the request leaves.
    func send() {
        guard activatedAt != nil, isLoaded, let installationID else { return save() }
        var (entries, uptime) = ([OutboxEntry](), configuration.clock.now().uptime)
        while case .send(let entry) = outbox.next(at: uptime) {
            clock.sends(entry.observedAt)
            isBehind = true
            entries.append(entry)
            uptime = configuration.clock.now().uptime
        }
        save()
        for entry in entries { deliver(entry, installationID) }
        if !entries.isEmpty { attachment.withLock { $0.watch }?.reportsGoOut() }
    }

    private func deliver(_ entry: OutboxEntry, _ installationID: String) {
        // In this turn, so that a sign-in in the next one finds the missing credential noted.
        guard let delivery = delivery(of: entry, installationID) else { return credentialIsMissing(entry) }
        Task { [weak self, configuration] in
            guard let delivery = await delivery() else {
                self?.enqueue { $0.credentialIsMissing(entry) }
                return
            }
            let sent = configuration.clock.now()
            let result = await configuration.transport.send(delivery.request)
            let now = configuration.clock.now()
            self?.enqueue { $0.settle(delivery, result, sent: sent, now) }
        }
    }

    /// A closure that makes an entry's request with a valid credential (C14). It returns nil while its source has none.
    /// The closure is nil if no source exists.
    private func delivery(of entry: OutboxEntry, _ id: String) -> (@Sendable () async -> Delivery?)? {
        let (configuration, environment) = (configuration, environment)
        let (source, keyServes) = (source(of: entry.owner), keyServes(entry))
        guard source != nil || keyServes else { return nil }
        return {
            var (credential, authority) = (String?.none, entry.owner)
            do {
                credential = try await source?()
            } catch {
                configuration.log(.error, "the credential source failed: \(error)")
            }
            if credential == nil, keyServes { (credential, authority) = (configuration.key, .installation) }
            guard let credential, let request = URLRequest(entry, id, credential, configuration, environment)
            else { return nil }
            return Delivery(entry: entry, request: request, credential: credential, authority: authority)
        }
    }

    private func source(of owner: Owner) -> CredentialSource? {
        switch owner {
        case .installation: { [key = configuration.key] in key }
        case .user(let user): sources[user]
        }
    }

    /// Whether the publishable key may replace a user's JWT: for ends and log-outs of a user who signed out, and for
    /// the installation's own records if iOS woke the app without its session.
    private func keyServes(_ entry: OutboxEntry) -> Bool {
        guard case .user(let user) = entry.owner else { return false }
        if entry.owner != owner { return entry.report.isFinal }
        return sources[user] == nil && entry.report.isOfInstallation && configuration.clock.now().uptime >= graceEnd
    }

    /// Evaluates a response, or its absence.
    func settle(_ delivery: Delivery, _ result: TransportResult, sent: DeviceTime, _ now: DeviceTime) {
        let responseClass =
            if case .response(let response) = result { ResponseClass(response) } else { ResponseClass.none }
        correctTimes(delivery, result, responseClass, elapsed: now.uptime - sent.uptime, now)
        let entry = outbox.entries.first { $0.id == delivery.entry.id }
        let isSent = if case .notSent = result { false } else { true }
        let circumstances = Outbox.Circumstances(
            authority: delivery.authority,
            uptime: now.uptime,
            time: clock.corrected(now),
            isCorrected: entry?.observedAt != delivery.entry.observedAt,
            isSent: isSent,
            jitter: Double(configuration.random() >> 11) / Double(1 << 53),
            runs: { [weak self] id in self?.runningActivities().contains { $0.id == id } ?? false }
        )
        isBehind = true
        for effect in outbox.settle(delivery.entry.id, responseClass, circumstances) { carryOut(effect, delivery, now) }
        forgetSources()
        attachment.withLock { $0.watch }?.reportsSettled()
    }

    /// Corrects the clock, and all times that the registry cannot have accepted (C15, C21).
    private func correctTimes(
        _ delivery: Delivery,
        _ result: TransportResult,
        _ responseClass: ResponseClass,
        elapsed: Duration,
        _ now: DeviceTime
    ) {
        let (id, time) = (delivery.entry.id, delivery.entry.observedAt)
        var (shift, isNotAccepted) = (Duration?.none, false)
        switch result {
        case .response(let response):
            // The registry's time does not show a jump since the clock was last read.
            notice(now)
            shift = response.serverTime(responseClass).flatMap { clock.correct(by: $0, at: now, elapsed: elapsed) }
            if responseClass.tookTheTime { clock.wasAnswered(time) }
            isNotAccepted = responseClass.refusesTheTime
        case .notSent: isNotAccepted = clock.didNotSend(time)
        case .noResponse: return
        }
        // Another response may have corrected the clock meanwhile.
        let isLate = isNotAccepted && outbox.entries.contains { $0.id == id && $0.correction != .zero }
        guard shift != nil || isLate else { return }
        move(by: shift ?? .zero, now, notAccepted: isNotAccepted ? id : nil)
    }

    private func carryOut(_ effect: Outbox.Effect, _ delivery: Delivery, _ now: DeviceTime) {
        switch effect {
        case .emit(let event): emit(event, delivery.entry.report)
        case .renewCredential(let owner): renewCredential(of: owner, delivery)
        case .reobserve(let registration, let owner):
            // After a sign-out the activity has no owner, and the log-out has ended it.
            if owner == self.owner { add(.registration(registration), now, isReobservation: true) }
        }
    }

    /// Schedules the next step that nothing else triggers.
    func setAlarm() {
        var next: Duration?
        if activatedAt != nil, isLoaded, installationID != nil,
            case .wait(let time) = outbox.upcoming(at: configuration.clock.now().uptime)
        {
            next = time
        }
        guard alarm?.time != next else { return }
        alarm?.task.cancel()
        alarm = next.map { time in
            Alarm(
                time: time,
                task: Task { [weak self, clock = configuration.clock] in
                    await clock.sleep(until: time)
                    if !Task.isCancelled { self?.enqueue { $0.alarm = nil } }
                }
            )
        }
    }
}

// MARK: - In the background

extension LiveActivityRegistry {
    /// Tries all that waits: the app came to the foreground, or the phone was unlocked.
    package nonisolated func retryNow() {
        enqueue {
            $0.outbox.retryNow()
            $0.isBehind = true
            // From now on the app itself sends.
            $0.submitted = []
            Task { [transport = $0.configuration.transport] in await transport.submitInBackground([]) }
        }
    }

    /// Whether nothing is under way, nor due by a time of the monotonic clock.
    func isIdle(until uptime: Duration) -> Bool {
        guard outbox.underWay.isEmpty else { return false }
        switch outbox.upcoming(at: configuration.clock.now().uptime) {
        case .send: return activatedAt == nil
        case .wait(let time): return time > uptime
        case .rest: return true
        }
    }

    /// Gives the waiting reports to the system, which sends them while the app sleeps or is dead (C19).
    ///
    /// It settles nothing: the client sends the same again when the app runs, and the registry recognizes it by its
    /// time.
    package func submitBackgroundUploads() async {
        await drain()
        let entries = outbox.uploadsInBackground
        guard activatedAt != nil, let installationID, entries.map(\.id) != submitted else { return }
        submitted = entries.map(\.id)
        // The registry may accept these times, even if the clock is corrected later.
        for entry in entries { clock.sends(entry.observedAt) }
        isBehind = true
        save()
        var requests: [URLRequest] = []
        for delivery in entries.compactMap({ delivery(of: $0, installationID) }) {
            if let delivery = await delivery() { requests.append(delivery.request) }
        }
        await configuration.transport.submitInBackground(requests)
    }
}
