extension LiveActivityRegistry {
    /// Something happened, of whatever kind: it is taken after all before.
    nonisolated func happens(_ body: @escaping @Sendable (isolated LiveActivityRegistry) -> Void) {
        commands.yield(Command(carryOut: body))
    }

    /// Takes one thing that happened, and does all that follows from it.
    func take(_ command: Command) {
        // Retried each time: there is no other sign that the phone was unlocked that would always come.
        if isStarted { load() }
        if stored.isLoaded || !command.waitsForFile {
            command.carryOut(self)
        } else {
            hold(command)
        }
        send()
        tellWaiting()
        show()
        setAlarm()
    }

    /// The file is not read yet, so there is no clock: the command keeps its device time until there is.
    private func hold(_ command: Command) {
        held.append(command)
        guard held.count > Outbox.limit, let index = held.firstIndex(where: { $0.report != nil }) else { return }
        if let report = held.remove(at: index).report { eventStreams.tell(.dropped(report.name, .outboxFull)) }
    }

    /// The file was read: what was held is carried out, in its order.
    func release() {
        let commands = held
        held = []
        for command in commands { command.carryOut(self) }
    }

    var owner: Owner { user.map(Owner.user) ?? .installation }

    func add(_ report: Report, _ time: DeviceTime, isObservedAnew: Bool = false) {
        remember(report)
        notice(time)
        let observedAt = clock.observe(time)
        let id = configuration.random()
        outbox.add(report, observedAt: observedAt, owner: owner, id: id, isObservedAnew: isObservedAnew)
            .forEach(eventStreams.tell)
        stored.isBehind = true
    }

    /// A log-out takes these away, and the phone may not say them again in this launch.
    private func remember(_ report: Report) {
        switch report {
        case .installationToken(_, let token), .startToken(_, let token):
            tokenReports.removeAll { $0.name == report.name }
            if token != nil { tokenReports.append(report) }
        default: break
        }
    }

    /// Whether the wall clock was set; then what was not sent is moved.
    func notice(_ time: DeviceTime) {
        if let shift = clock.notice(time) { move(by: shift, time) }
    }

    /// - Parameter notAccepted: an entry that the registry has not accepted, for certain.
    func move(by shift: Duration, _ time: DeviceTime, notAccepted: UInt64? = nil) {
        let now = clock.corrected(time)
        clock.moved(latest: outbox.move(by: shift, after: clock.floor, until: now, notAccepted: notAccepted))
        stored.isBehind = true
    }
}
