import Foundation

/// The timer of all that waits.
struct Alarm: Sendable {
    let time: Duration
    let task: Task<Void, Never>
}

/// An entry with its request.
struct Delivery: Sendable {
    let entry: OutboxEntry
    let request: TransportRequest
    let credential: String
    /// The source of the credential: the entry's owner, or the installation in the place of one who signed out.
    let authority: Owner
}

extension LiveActivityRegistry {
    /// Hands out all that may go now. It is in the file before it goes, and so is the time that the registry may accept.
    func send() {
        guard isStarted, stored.isLoaded, let installationID else { return save() }
        var (entries, uptime) = ([OutboxEntry](), configuration.clock.now().uptime)
        while case .send(let entry) = outbox.next(at: uptime) {
            clock.sends(entry.observedAt)
            stored.isBehind = true
            entries.append(entry)
            uptime = configuration.clock.now().uptime
        }
        save()
        // The file may have told what another process did: an entry is now the next user's, or is not to be sent any more.
        for entry in entries {
            guard let entry = outbox.entries.first(where: { $0.id == entry.id }) else {
                outbox.underWay.remove(entry.id)
                continue
            }
            deliver(entry, installationID)
        }
        if !entries.isEmpty { attachment.withLock { $0.watch }?.reportsGoOut() }
    }

    private func deliver(_ entry: OutboxEntry, _ installationID: InstallationID) {
        // Noted in this turn: a sign-in that comes in the next one must find it noted.
        guard let delivery = delivery(of: entry, installationID) else { return credentialIsMissing(entry) }
        Task { [weak self, configuration] in
            guard let delivery = await delivery() else {
                self?.happens { $0.credentialIsMissing(entry) }
                return
            }
            let sent = configuration.clock.now()
            let result = await configuration.transport.send(delivery.request)
            let now = configuration.clock.now()
            self?.happens { $0.settle(delivery, result, sent: sent, now) }
        }
    }

    /// Makes an entry's request by a credential that is valid now (C14), and gives nil while there is none; nil where nobody gives one.
    func delivery(of entry: OutboxEntry, _ installationID: InstallationID) -> (@Sendable () async -> Delivery?)? {
        let (configuration, environment) = (configuration, environment)
        let (source, isAllowedToAnyone) = (source(of: entry.owner), isAllowedToAnyone(entry))
        guard source != nil || isAllowedToAnyone else { return nil }
        return {
            var (credential, authority) = (await source?(), entry.owner)
            // An end or a log-out of one who is gone may be said by the installation itself, and names nobody.
            if credential == nil, isAllowedToAnyone { (credential, authority) = (configuration.key, .installation) }
            guard let credential,
                let request = TransportRequest(entry, installationID, credential, configuration, environment)
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

    private func isAllowedToAnyone(_ entry: OutboxEntry) -> Bool { entry.report.isFinal && entry.owner != owner }

    /// An answer came, or none did.
    func settle(_ delivery: Delivery, _ result: TransportResult, sent: DeviceTime, _ now: DeviceTime) {
        let verdict = if case .answer(let answer) = result { Verdict(answer) } else { Verdict.unanswered }
        correctTimes(delivery, result, verdict, elapsed: now.uptime - sent.uptime, now)
        let entry = outbox.entries.first { $0.id == delivery.entry.id }
        let isSent = if case .notSent = result { false } else { true }
        let circumstances = Outbox.Circumstances(
            authority: delivery.authority,
            uptime: now.uptime,
            time: clock.corrected(now),
            isCorrected: entry?.observedAt != delivery.entry.observedAt,
            isSent: isSent,
            jitter: Double(configuration.random() >> 11) / Double(1 << 53),
            runs: { [running = runningActivities] in running().contains($0) }
        )
        stored.isBehind = true
        for effect in outbox.settle(delivery.entry.id, verdict, circumstances) { carryOut(effect, delivery, now) }
        forgetSources()
    }

    /// Puts right what the answer shows to be by a wrong clock: the clock itself, and all times that the registry cannot have
    /// accepted (C15, C21).
    private func correctTimes(
        _ delivery: Delivery,
        _ result: TransportResult,
        _ verdict: Verdict,
        elapsed: Duration,
        _ now: DeviceTime
    ) {
        let (id, time) = (delivery.entry.id, delivery.entry.observedAt)
        var (shift, isNotAccepted) = (Duration?.none, false)
        switch result {
        case .answer(let answer):
            // A jump of the clock since it was last looked at is none of the registry's.
            notice(now)
            shift = answer.serverTime(verdict).flatMap { clock.correct(by: $0, at: now, elapsed: elapsed) }
            if verdict.tookTheTime { clock.wasAnswered(time) }
            isNotAccepted = verdict.refusesTheTime
        case .notSent: isNotAccepted = clock.didNotSend(time)
        case .noAnswer: return
        }
        // Another answer may have corrected the clock meanwhile.
        let isLate = isNotAccepted && outbox.entries.contains { $0.id == id && $0.correction != .zero }
        guard shift != nil || isLate else { return }
        move(by: shift ?? .zero, now, notAccepted: isNotAccepted ? id : nil)
    }

    private func carryOut(_ effect: Outbox.Effect, _ delivery: Delivery, _ now: DeviceTime) {
        switch effect {
        case .tell(let event): eventStreams.tell(event)
        case .renewCredential(let owner): renewCredential(of: owner, delivery)
        case .observeAnew(let registration, let owner):
            // After a sign-out it is nobody's, and the log-out has ended it.
            if owner == self.owner { add(.registration(registration), now, isObservedAnew: true) }
        }
    }

    /// The next time at which something is to be done, whatever happens.
    func setAlarm() {
        var next: Duration?
        if isStarted, stored.isLoaded, installationID != nil {
            let uptime = configuration.clock.now().uptime
            switch outbox.upcoming(at: uptime) {
            // Another process has written it just now.
            case .send: next = uptime
            case .wait(let time): next = time
            case .rest: break
            }
        }
        guard alarm?.time != next else { return }
        alarm?.task.cancel()
        alarm = next.map { time in
            Alarm(
                time: time,
                task: Task { [weak self, clock = configuration.clock] in
                    await clock.sleep(until: time)
                    if !Task.isCancelled { self?.happens { $0.alarm = nil } }
                }
            )
        }
    }
}
