extension LiveActivityRegistry {
    /// - Parameter running: the activities that ran at the call, which belong to the former user, if that is another one.
    func signIn(
        _ user: String,
        _ source: @escaping CredentialSource,
        ending running: [any SystemActivity],
        _ time: DeviceTime
    ) {
        if state.user != nil, state.user != user { logOut(ending: running, time) }
        (state.user, self.source) = (user, source)
        state.metadata = configuration.metadata.isEmpty ? nil : configuration.metadata
        add(.installation(aliases: ["userId": [user]], metadata: state.metadata), time)
        for report in tokenReports { add(report, time) }
        state.outbox.credentialCame(for: owner)
    }

    /// The log-out ends the activities that the registry knows. An activity without a token is ended here, because its
    /// first token would make it the next user's (C14).
    func logOut(ending running: [any SystemActivity], _ time: DeviceTime) {
        for activity in running { add(.end(activityID: activity.id, isDismissal: false), time) }
        add(.logOut, time)
        // The publishable key reports what is left.
        state.outbox.credentialCame(for: owner)
        (state.user, source) = (nil, nil)
        if configuration.endsActivitiesOnSignOut { watch?.end(running) }
    }

    /// The pause before a source that had no credential is asked again.
    private static let credentialPause = Duration.seconds(30)
    /// The app has this long after `activate()` to sign its user in before the key replaces the JWT.
    private static let sessionGrace = Duration.seconds(3)

    var graceEnd: Duration { (activatedAt ?? .zero) + Self.sessionGrace }

    func credentialIsMissing(_ entry: OutboxEntry) {
        let uptime = configuration.clock.now().uptime
        if entry.owner == owner, source != nil || uptime < graceEnd {
            let end = source == nil ? graceEnd : uptime + Self.credentialPause
            state.outbox.credentialIsMissing(for: entry, until: end)
        } else if entry.report.isFinal {
            // Its user has signed out meanwhile, so the key reports it.
            state.outbox.credentialIsMissing(for: entry, until: uptime)
        } else {
            state.outbox.needsUser(entry.id)
        }
    }
}

// MARK: - Publishing

extension LiveActivityRegistry {
    func emit(_ event: Event, _ report: Report? = nil) {
        let token = report?.token.map { ", \($0)" } ?? ""
        switch event {
        case .registered(let subject):
            configuration.log(.info, "registered \(subject)\(token)")
            if case .activity(let id) = subject { registrations.set(.registered, of: id) }
        case .refused(let subject, let code, let detail, let isKept):
            let ending = isKept ? " It is repeated." : ""
            configuration.log(.error, "refused \(subject)\(token): \(code.rawValue). \(detail)\(ending)")
            if case .activity(let id) = subject { registrations.set(.refused(code), of: id) }
        case .dropped(let subject): configuration.log(.error, "dropped \(subject), because 500 reports wait")
        case .unreachable(let since): configuration.log(.info, "no response since \(since)")
        case .fileSetAside: configuration.log(.error, "the file of waiting reports was not readable and was renamed")
        }
        eventStreams.emit(event)
    }

    func publishStatus() {
        var status = Status(environment: configuration.reportedEnvironment)
        status.waiting = state.outbox.entries.count + deferred.count
        status.waitingSince = state.outbox.entries.map(\.observedAt).min()?.date
        status.unreachableSince = state.outbox.silence?.since.date
        status.userID = state.user
        status.isReady = installationID != nil
        publishedStatus.withLock { [status] in $0 = status }
        statusStreams.emit(status)
    }
}
