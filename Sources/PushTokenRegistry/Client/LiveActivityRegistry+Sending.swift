extension LiveActivityRegistry {
    /// Sends all that may go now. The file has each entry and its time before the request leaves.
    func send() {
        guard let installationID else { return }
        var (deliveries, isDue) = ([Delivery](), false)
        while case .send(let entry) = state.outbox.next(at: configuration.clock.now().uptime) {
            isDue = true
            guard let delivery = delivery(of: entry) else {
                credentialIsMissing(entry)
                continue
            }
            state.clock.sends(entry.observedAt)
            deliveries.append(delivery)
        }
        save()
        for delivery in deliveries { send(delivery, installationID) }
        // Also if it waits for the app to sign its user in.
        if isDue { watch?.reportsGoOut() }
    }

    private func send(_ delivery: Delivery, _ installationID: String) {
        Task { [weak self, configuration] in
            guard let credential = await configuration.credential(of: delivery) else {
                self?.enqueue { $0.credentialIsMissing(delivery.entry) }
                return
            }
            let request = configuration.request(delivery.entry, installationID, credential)
            let sent = configuration.clock.now()
            let result = await configuration.transport.send(request)
            let now = configuration.clock.now()
            self?.enqueue { $0.settle(delivery, result, sent: sent, now) }
        }
    }

    /// The publishable key reports the ends and the log-out of a user who signed out. It reports the installation's own
    /// records if iOS woke the app without its session (C14).
    private func delivery(of entry: OutboxEntry) -> Delivery? {
        let isWithoutSession = source == nil && configuration.clock.now().uptime >= graceEnd
        let keyServes =
            entry.owner == owner
            ? isWithoutSession && entry.report.isOfInstallation : entry.report.isFinal
        if entry.owner == .installation || keyServes {
            return Delivery(entry: entry, authority: .installation, source: nil)
        }
        guard entry.owner == owner, let source else { return nil }
        return Delivery(entry: entry, authority: owner, source: source)
    }

    func settle(_ delivery: Delivery, _ result: TransportResult, sent: DeviceTime, _ now: DeviceTime) {
        let responseClass = ResponseClass(result)
        correctTimes(delivery.entry, result, responseClass, elapsed: now.uptime - sent.uptime, now)
        let circumstances = Outbox.Circumstances(
            authority: delivery.authority,
            uptime: now.uptime,
            time: state.clock.corrected(now),
            jitter: Double.random(in: 0...1),
            floor: state.clock.floor,
            runs: { [watch] report in
                guard case .registration(let registration) = report else { return false }
                return watch?.runningActivities().contains { $0.id == registration.activityID } ?? false
            }
        )
        let events = state.outbox.settle(delivery.entry, responseClass, circumstances)
        for event in events { emit(event, delivery.entry.report) }
        watch?.checkWake()
    }

    /// Corrects the clock, and all times that the registry cannot have accepted (C15, C21).
    private func correctTimes(
        _ entry: OutboxEntry,
        _ result: TransportResult,
        _ responseClass: ResponseClass,
        elapsed: Duration,
        _ now: DeviceTime
    ) {
        var (shift, isNotAccepted) = (Duration?.none, false)
        switch result {
        case .response(let response, _):
            // The registry's time does not show a jump since the clock was last read.
            notice(now)
            let serverTime = response.serverTime(responseClass)
            shift = serverTime.flatMap { state.clock.correct(by: $0, at: now, elapsed: elapsed) }
            if responseClass.tookTheTime { state.clock.wasAnswered(entry.observedAt) }
            isNotAccepted = responseClass.refusesTheTime
        case .notSent: isNotAccepted = state.clock.didNotSend(entry.observedAt)
        case .noResponse: return
        }
        // Another response may have corrected the clock meanwhile.
        let isLate = isNotAccepted && state.outbox.entries.contains { $0.id == entry.id && $0.correction != .zero }
        guard shift != nil || isLate else { return }
        move(by: shift ?? .zero, now, notAccepted: isNotAccepted ? entry.id : nil)
    }

    /// Schedules the next step that nothing else triggers.
    func setAlarm() {
        var next: Duration?
        // At zero, because a time that has passed since the last look for entries needs an alarm, too.
        if case .wait(let time) = state.outbox.upcoming(at: .zero) { next = time }
        guard alarm?.time != next else { return }
        alarm?.task.cancel()
        alarm = next.map { time in
            let task = Task { [weak self, clock = configuration.clock] in
                await clock.sleep(until: time)
                if !Task.isCancelled { self?.enqueue { $0.alarm = nil } }
            }
            return (time, task)
        }
    }

    /// Tries all that waits: the app came to the foreground, or the phone was unlocked.
    package nonisolated func retryNow() {
        enqueue {
            $0.state.outbox.retryNow()
            // From now on the app itself sends.
            $0.submitted = []
            Task { [transport = $0.configuration.transport] in await transport.submitInBackground([]) }
        }
    }

    package func isIdle(until uptime: Duration) async -> Bool {
        await drain()
        if case .send = state.outbox.upcoming(at: uptime) { return false }
        return state.outbox.underWay.isEmpty
    }

    /// Gives the waiting reports to the system, which sends them while the app sleeps or is dead (C19).
    ///
    /// It settles nothing: the client sends the same again when the app runs, and the registry recognizes it by its
    /// time.
    package func submitBackgroundUploads() async {
        await drain()
        let deliveries = state.outbox.uploadsInBackground.compactMap { delivery(of: $0) }
        let ids = deliveries.map(\.entry.id)
        guard let installationID, ids != submitted else { return }
        submitted = ids
        // The registry may accept these times, even if the clock is corrected later.
        for delivery in deliveries { state.clock.sends(delivery.entry.observedAt) }
        save()
        var credentials: [Owner: String] = [:]
        for (authority, deliveries) in Dictionary(grouping: deliveries, by: \.authority) {
            // Of the five seconds before iOS ends the background task.
            credentials[authority] = await configuration.credential(of: deliveries[0], within: .seconds(3))
        }
        // The app may be in the foreground again, and send them itself.
        guard submitted == ids else { return }
        let ready = deliveries.compactMap { delivery in credentials[delivery.authority].map { (delivery.entry, $0) } }
        submitted = ready.map(\.0.id)
        await configuration.transport.submitInBackground(ready.map { configuration.request($0, installationID, $1) })
    }
}
