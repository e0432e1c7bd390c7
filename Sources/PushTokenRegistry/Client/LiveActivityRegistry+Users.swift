extension LiveActivityRegistry {
    /// - Parameter running: the activities that ran at the call, which belong to the former user, if that is another one.
    func signIn(
        _ user: String,
        _ source: @escaping CredentialSource,
        ending running: [any SystemActivity],
        _ time: DeviceTime
    ) {
        if self.user != nil, self.user != user { logOut(ending: running, time) }
        self.user = user
        sources[user] = source
        metadata = configuration.metadata.isEmpty ? nil : configuration.metadata
        add(.installation(aliases: ["userId": [user]], metadata: metadata), time)
        for report in tokenReports { add(report, time) }
        outbox.credentialCame(for: .user(user))
        // The timer would wake the phone for nothing.
        if credentialRetry?.owner == .user(user) { credentialRetry?.task.cancel() }
    }

    /// The log-out ends the activities that the registry knows. An activity without a token is ended here, because its
    /// first token would make it the next user's (C14).
    func logOut(ending running: [any SystemActivity], _ time: DeviceTime) {
        for activity in running { add(.end(activityID: activity.id, isDismissal: false), time) }
        add(.logOut, time)
        user = nil
        guard configuration.endsActivitiesOnSignOut else { return }
        attachment.withLock { $0.watch }?.end(running)
    }

    /// The pause before a source that had no credential is asked again.
    private static let credentialPause = Duration.seconds(30)
    /// The app has this long after `activate()` to sign its user in before the key replaces the JWT.
    private static let sessionGrace = Duration.seconds(3)

    var graceEnd: Duration { (activatedAt ?? .zero) + Self.sessionGrace }

    func credentialIsMissing(_ entry: OutboxEntry) {
        guard case .user(let user) = entry.owner else { return }
        let uptime = configuration.clock.now().uptime
        let hasSource = sources[user] != nil
        guard hasSource || uptime < graceEnd else { return outbox.needsUser(entry.id) }
        outbox.credentialIsMissing(for: entry.id, of: entry.owner)
        let retry = hasSource ? uptime + Self.credentialPause : graceEnd
        credentialRetry?.task.cancel()
        let task = Task { [weak self, clock = configuration.clock] in
            await clock.sleep(until: retry)
            if !Task.isCancelled { self?.enqueue { $0.outbox.credentialCame(for: entry.owner) } }
        }
        credentialRetry = (entry.owner, task)
    }

    /// The registry refused a credential: its source may have another one by now.
    func renewCredential(of owner: Owner, _ delivery: Delivery) {
        guard case .user(let user) = owner, delivery.authority == owner, let source = sources[user] else { return }
        if owner != self.owner {
            // The registry refused the last JWT of a signed-out user: the installation reports the rest.
            sources[user] = nil
            outbox.credentialCame(for: owner)
            return
        }
        Task { [weak self] in
            guard let credential = try? await source(), credential != delivery.credential else { return }
            self?.enqueue { $0.outbox.credentialWasRenewed(for: owner) }
        }
    }

    /// Keeps the source of a user who signed out only as long as a report of theirs waits.
    func forgetSources() {
        let waiting = Set(outbox.entries.map(\.owner))
        sources = sources.filter { $0.key == user || waiting.contains(.user($0.key)) }
    }
}

// MARK: - Publishing

extension LiveActivityRegistry {
    func emit(_ event: Event) { emit(event, nil) }

    func emit(_ event: Event, _ report: Report?) {
        let token = report?.token.map { ", \($0)" } ?? ""
        switch event {
        case .registered(let subject): configuration.log(.info, "registered \(subject)\(token)")
        case .refused(let subject, let code, let detail, let isKept):
            configuration.log(
                .error,
                "refused \(subject)\(token): \(code). \(detail)\(isKept ? " It is repeated." : "")"
            )
        case .dropped(let subject, let reason): configuration.log(.error, "dropped \(subject): \(reason)")
        case .unreachable(let since): configuration.log(.info, "no response since \(since)")
        case .fileSetAside: configuration.log(.error, "the file of waiting reports was not readable and was renamed")
        case .waiting: break
        }
        switch (event, report) {
        case (.registered(.activity(let id)), _): registrations.set(.registered, of: id)
        case (.refused(.activity(let id), let code, _, _), _): registrations.set(.refused(code), of: id)
        default: break
        }
        eventStreams.emit(event)
    }

    func publishStatus() {
        let oldest = outbox.entries.map(\.observedAt).min()?.date
        if outbox.underWay.isEmpty, isLoaded, let oldest {
            let event = Event.waiting(count: outbox.entries.count, since: oldest)
            if event != publishedWaiting { emit(event) }
            publishedWaiting = event
        }
        var status = Status(environment: environment)
        status.waiting = outbox.entries.count + deferred.count
        status.waitingSince = oldest
        status.unreachableSince = outbox.silence?.since.date
        status.userID = user
        status.isReady = isLoaded && installationID != nil
        publishedStatus.withLock { [status] in $0 = status }
        statusStreams.emit(status)
    }
}

/// Streams of one source to several listeners. Each buffers the latest 100 elements.
final class EventStreams<Element: Sendable>: Sendable {
    private let listeners = LockedValue<[UInt64: AsyncStream<Element>.Continuation]>([:])

    func stream() -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(100)) { continuation in
            let id = UInt64.random(in: .min ... .max)
            listeners.withLock { $0[id] = continuation }
            continuation.onTermination = { [weak self] _ in
                self?.listeners.withLock { $0[id] = nil }
            }
        }
    }

    func emit(_ element: Element) {
        for listener in listeners.withLock({ Array($0.values) }) { listener.yield(element) }
    }

    deinit { for listener in listeners.withLock({ Array($0.values) }) { listener.finish() } }
}
