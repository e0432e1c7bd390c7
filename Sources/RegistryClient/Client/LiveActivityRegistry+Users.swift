extension LiveActivityRegistry {
    /// - Parameter running: the activities that ran when it was told, which were the last user's, if it is another one.
    func signIn(
        _ user: UTF8Text,
        _ source: @escaping CredentialSource,
        ending running: [UTF8Text],
        _ time: DeviceTime
    ) {
        if self.user != nil, self.user != user { logOut(ending: running, time) }
        self.user = user
        userChanged = true
        sources[user] = source
        add(.installation(aliases: ["userId": [user.string]]), time)
        for report in tokenReports { add(report, time) }
        outbox.credentialCame(for: .user(user))
    }

    /// The log-out ends what the registry knows of. An activity whose first token is still to come is ended here, or that token
    /// would make it the next user's (C14).
    func logOut(ending running: [UTF8Text], _ time: DeviceTime) {
        for id in running { add(.end(activityID: id, isDismissal: false), time) }
        add(.logOut, time)
        user = nil
        userChanged = true
    }
}

extension LiveActivityRegistry {
    /// The activities that the phone shows now, or has scheduled.
    nonisolated func runningActivities() -> [UTF8Text] {
        attachment.withLock { $0.watch }?.runningActivities().map { UTF8Text($0) } ?? []
    }
}

// MARK: - Credentials

extension LiveActivityRegistry {
    /// How long to wait before a source that had no credential is asked again.
    private static let credentialPause = Duration.seconds(30)

    func credentialIsMissing(_ entry: OutboxEntry) {
        outbox.credentialIsMissing(for: entry.id, of: entry.owner)
        guard case .user(let user) = entry.owner, sources[user] != nil else { return }
        let retry = configuration.clock.now().uptime + Self.credentialPause
        credentialRetry?.cancel()
        credentialRetry = Task { [weak self, clock = configuration.clock] in
            await clock.sleep(until: retry)
            if !Task.isCancelled { self?.happens { $0.outbox.credentialCame(for: entry.owner) } }
        }
    }

    /// A credential was refused: the source may have another one by now.
    func renewCredential(of owner: Owner, _ delivery: Delivery) {
        guard case .user(let user) = owner, delivery.authority == owner, let source = sources[user] else { return }
        if owner != self.owner {
            // The last JWT of one who signed out is no longer valid: what is left goes out in the installation's name.
            sources[user] = nil
            outbox.credentialCame(for: owner)
            return
        }
        Task { [weak self] in
            guard let credential = await source(), credential != delivery.credential else { return }
            self?.happens { $0.outbox.credentialWasRenewed(for: owner) }
        }
    }

    /// Those who signed out are asked for their JWT as long as something of theirs waits, and no longer.
    func forgetSources() {
        let waiting = Set(outbox.entries.map(\.owner))
        sources = sources.filter { $0.key == user || waiting.contains(.user($0.key)) }
    }
}
