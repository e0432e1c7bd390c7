/// A change of the client's state. The client processes one at a time, in their order.
struct Mutation: Sendable {
    /// It depends on times or the user, which the file contains.
    var needsFile = false
    var report: Report?
    let apply: @Sendable (isolated LiveActivityRegistry) -> Void
}

extension LiveActivityRegistry {
    nonisolated func enqueue(_ body: @escaping @Sendable (isolated LiveActivityRegistry) -> Void) {
        mutations.yield(Mutation(apply: body))
    }

    /// Reports an observation of now, or of an earlier time.
    package nonisolated func report(_ report: Report, at time: DeviceTime? = nil) {
        let time = time ?? configuration.clock.now()
        mutations.yield(Mutation(needsFile: true, report: report) { $0.add(report, time) })
    }

    /// Returns when all earlier mutations are processed.
    package nonisolated func drain() async {
        await withCheckedContinuation { continuation in enqueue { _ in continuation.resume() } }
    }

    func process(_ mutation: Mutation) {
        // No notification reliably follows the first unlock of the phone, so each mutation tries to read the file.
        if activatedAt != nil { load() }
        if isLoaded || !mutation.needsFile {
            mutation.apply(self)
        } else {
            deferUntilUnlocked(mutation)
        }
        send()
        publishStatus()
        setAlarm()
    }

    /// The file contains the clock, so the mutation keeps its device time until then.
    private func deferUntilUnlocked(_ mutation: Mutation) {
        deferred.append(mutation)
        guard deferred.count > Outbox.limit, let index = deferred.firstIndex(where: { $0.report != nil }) else {
            return
        }
        if let report = deferred.remove(at: index).report { emit(.dropped(report.subject, .outboxFull)) }
    }

    private func replayDeferred() {
        let mutations = deferred
        deferred = []
        for mutation in mutations { mutation.apply(self) }
    }

    var owner: Owner { user.map(Owner.user) ?? .installation }

    func add(_ report: Report, _ time: DeviceTime, isReobservation: Bool = false) {
        if case .installationToken(.widget, let token) = report {
            guard token != nil || hasWidgetToken else { return }
            hasWidgetToken = token != nil
        }
        remember(report)
        notice(time)
        let observedAt = clock.observe(time)
        outbox.add(
            report,
            observedAt: observedAt,
            owner: owner,
            id: configuration.random(),
            isReobservation: isReobservation
        ).forEach(emit)
        if case .registration(let activity) = report { registrations.set(.pending, of: activity.activityID) }
        isBehind = true
    }

    /// A log-out deletes these tokens, and ActivityKit may not deliver them again in this launch.
    private func remember(_ report: Report) {
        switch report {
        case .installationToken(_, let token), .startToken(_, let token):
            tokenReports.removeAll { $0.subject == report.subject }
            if token != nil { tokenReports.append(report) }
        default: break
        }
    }

    /// Moves the times of unsent reports if the wall clock was set.
    func notice(_ time: DeviceTime) {
        if let shift = clock.notice(time) { move(by: shift, time) }
    }

    /// - Parameter notAccepted: an entry that the registry cannot have accepted.
    func move(by shift: Duration, _ time: DeviceTime, notAccepted: UInt64? = nil) {
        let now = clock.corrected(time)
        clock.moved(latest: outbox.move(by: shift, after: clock.floor, until: now, notAccepted: notAccepted))
        isBehind = true
    }
}

// MARK: - The file

extension LiveActivityRegistry {
    /// Reads the file and the installation id, if that was not possible before (C10, C17).
    func load() {
        var isFormer = false
        if installationID == nil {
            (installationID, isFormer) = configuration.installationIDs.current(random: configuration.random)
        }
        guard !isLoaded else { return }
        switch configuration.storage.read() {
        case .unreadable:
            // The id is asked for again with the file, because only both together show a reinstall.
            installationID = nil
            return
        case .none: resume(StoredState(), isReinstall: isFormer)
        case .bytes(let bytes):
            if let state = StoredState(bytes) { return resume(state) }
            configuration.storage.setAside()
            emit(.fileSetAside)
            resume(StoredState())
        }
    }

    private func resume(_ state: StoredState, isReinstall: Bool = false) {
        isLoaded = true
        (clock, user, metadata, hasWidgetToken) = (state.clock, state.user, state.metadata, state.hasWidgetToken)
        outbox = Outbox(entries: state.entries)
        // The keychain outlives the app. The former install's user must not receive pushes on this one.
        if isReinstall { add(.logOut, created) }
        replayDeferred()
        reportMetadata()
    }

    /// Writes the file if it lacks a change. If that fails, the next mutation tries again.
    func save() {
        guard isLoaded, isBehind else { return }
        var state = StoredState()
        (state.clock, state.user, state.metadata, state.entries) = (clock, user, metadata, outbox.entries)
        state.hasWidgetToken = hasWidgetToken
        isBehind = !configuration.storage.write(state.bytes)
    }

    /// Reports the facts of this phone if they changed since the last report.
    private func reportMetadata() {
        let current = configuration.metadata
        guard !current.isEmpty, metadata != current else { return }
        metadata = current
        add(.installation(aliases: nil, metadata: current), configuration.clock.now())
    }
}
