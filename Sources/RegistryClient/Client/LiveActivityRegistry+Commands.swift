extension LiveActivityRegistry {
    /// Takes one thing that happened, and does all that follows from it.
    func take(_ command: Command) {
        // Retried each time: there is no other sign that the phone was unlocked that would always come.
        if isStarted || command.isStart { load() }
        var command = command
        if case .signOut(let time, let continuation?) = command {
            signOuts.append(PendingSignOut(continuation, from: configuration.clock.now().uptime))
            command = .signOut(time, nil)
        }
        if stored.isLoaded || !command.waitsForFile {
            carryOut(command)
        } else {
            hold(command)
        }
        send()
        finishSignOuts()
        tellWaiting()
        show()
        setAlarm()
    }

    private func carryOut(_ command: Command) {
        switch command {
        case .start: isStarted = true
        case .report(let report, let time): add(report, time)
        case .foreground:
            outbox.comesToForeground()
            stored.isBehind = true
        case .signIn(let user, let source, let time): signIn(user, source, time)
        case .signOut(let time, _): logOut(time)
        case .answered(let delivery, let result, let time): settle(delivery, result, time)
        case .credentialIsMissing(let entry): credentialIsMissing(entry)
        case .credentialCame(let owner, let credential): credentialCame(owner, credential)
        case .woken: wake()
        case .caughtUp(let continuation): continuation.resume()
        }
    }

    /// The file is not read yet, so there is no clock: the command keeps its device time until there is.
    private func hold(_ command: Command) {
        held.append(command)
        guard held.count > Outbox.limit, let index = held.firstIndex(where: \.isReport) else { return }
        if case .report(let report, _) = held.remove(at: index) {
            eventStreams.tell(.dropped(ReportName(report.key), .outboxFull))
        }
    }

    /// The file was read: what was held is carried out, in its order.
    func release() {
        let commands = held
        held = []
        for command in commands { carryOut(command) }
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
        case .installationToken(let kind, let token): installationTokens[kind] = token
        case .startToken(let attributesType, let token): startTokens[attributesType] = token
        default: break
        }
    }

    /// Whether the wall clock was set; then what was not sent is moved.
    private func notice(_ time: DeviceTime) {
        if let shift = clock.notice(time) { move(by: shift, time) }
    }

    func move(by shift: Duration, _ time: DeviceTime) {
        clock.moved(latest: outbox.move(by: shift, after: clock.floor, until: clock.corrected(time)))
        stored.isBehind = true
    }

    private func wake() {
        let now = configuration.clock.now().uptime
        alarm = nil
        guard let retry = credentialRetry, retry <= now else { return }
        credentialRetry = nil
        if let user { outbox.credentialCame(for: .user(user)) }
    }
}

extension Command {
    fileprivate var isStart: Bool {
        guard case .start = self else { return false }
        return true
    }

    fileprivate var isReport: Bool {
        guard case .report = self else { return false }
        return true
    }

    /// It is about times or the user, which are in the file.
    fileprivate var waitsForFile: Bool {
        switch self {
        case .report, .signIn, .signOut: true
        case .start, .foreground, .answered, .credentialIsMissing, .credentialCame, .woken, .caughtUp: false
        }
    }
}
