import Foundation

/// A change of the client's state. The client processes one at a time, in their order.
struct Mutation: Sendable {
    /// It depends on times or the user, which the file contains.
    let needsFile: Bool
    let apply: @Sendable (isolated LiveActivityRegistry) -> Void
}

extension LiveActivityRegistry {
    nonisolated func enqueue(
        needsFile: Bool = false,
        _ body: @escaping @Sendable (isolated LiveActivityRegistry) -> Void
    ) { mutations.yield(Mutation(needsFile: needsFile, apply: body)) }

    /// Reports an observation of now, or of an earlier time.
    package nonisolated func report(_ report: Report, at time: DeviceTime? = nil) {
        let time = time ?? configuration.clock.now()
        enqueue(needsFile: true) { $0.add(report, time) }
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
            deferred.append(mutation)
        }
        send()
        publishStatus()
        setAlarm()
    }

    var owner: Owner { state.user.map(Owner.user) ?? .installation }

    func add(_ report: Report, _ time: DeviceTime) {
        if case .installationToken(.widget, let token) = report {
            guard token != nil || state.hasWidgetToken else { return }
            state.hasWidgetToken = token != nil
        }
        remember(report)
        notice(time)
        let observedAt = state.clock.observe(time)
        let events = state.outbox.add(report, observedAt: observedAt, owner: owner, id: configuration.random())
        for event in events { emit(event) }
        switch report {
        case .registration(let activity): registrations.set(.pending, of: activity.activityID)
        case .end(let id, _): registrations.set(.ended, of: id)
        default: break
        }
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
        if let shift = state.clock.notice(time) { move(by: shift, time) }
    }

    /// - Parameter notAccepted: an entry that the registry cannot have accepted.
    func move(by shift: Duration, _ time: DeviceTime, notAccepted: UInt64? = nil) {
        let (clock, now) = (state.clock, state.clock.corrected(time))
        let latest = state.outbox.move(by: shift, after: clock.floor, until: now, notAccepted: notAccepted)
        state.clock.moved(latest: latest)
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
        var isReinstall = false
        switch configuration.storage.read() {
        case .locked:
            // The id is asked for again with the file, because only both together show a reinstall.
            installationID = nil
            return
        case .none: isReinstall = isFormer
        case .value(let bytes):
            if let state = StoredState(bytes) {
                (self.state, written) = (state, bytes)
            } else {
                configuration.storage.setAside()
                emit(.fileSetAside)
            }
        }
        isLoaded = true
        // The keychain outlives the app. The former install's user must not receive pushes on this one.
        if isReinstall { add(.logOut, created) }
        for mutation in deferred { mutation.apply(self) }
        deferred = []
        reportMetadata()
    }

    /// Writes the file if it lacks a change. If that fails, the next mutation tries again.
    func save() {
        guard isLoaded else { return }
        let bytes = state.bytes
        if bytes != written, configuration.storage.write(bytes) { written = bytes }
    }

    /// Reports the facts of this phone if they changed since the last report.
    private func reportMetadata() {
        let current = configuration.metadata
        guard !current.isEmpty, state.metadata != current else { return }
        state.metadata = current
        add(.installation(aliases: nil, metadata: current), configuration.clock.now())
    }
}
