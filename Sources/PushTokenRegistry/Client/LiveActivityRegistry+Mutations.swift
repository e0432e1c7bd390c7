import Foundation

/// A change of the client's state. The client processes one at a time, in their order.
typealias Mutation = @Sendable (isolated LiveActivityRegistry) -> Void

extension LiveActivityRegistry {
    nonisolated func enqueue(_ mutation: @escaping Mutation) { mutations.yield(mutation) }

    /// For a mutation that depends on times or the user, which the file contains.
    nonisolated func enqueueLoaded(_ mutation: @escaping Mutation) {
        enqueue { client in
            if client.installationID == nil { client.deferred.append(mutation) } else { mutation(client) }
        }
    }

    /// Reports an observation of now, or of an earlier time.
    package nonisolated func report(_ report: Report, at time: DeviceTime? = nil) {
        let time = time ?? configuration.clock.now()
        enqueueLoaded { $0.add(report, time) }
    }

    /// Returns when all earlier mutations are processed.
    package nonisolated func drain() async {
        await withCheckedContinuation { continuation in enqueue { _ in continuation.resume() } }
    }

    func process(_ mutation: Mutation) {
        // No notification reliably follows the first unlock of the phone, so each mutation tries to read the file.
        if activatedAt != nil { load() }
        mutation(self)
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
        notice(time)
        let (id, observedAt) = (UInt64.random(in: .min ... .max), state.clock.observe(time))
        let entry = OutboxEntry(id: id, report: report, observedAt: observedAt, owner: owner)
        for event in state.outbox.add(entry) { emit(event) }
        switch report {
        case .registration(let activity): registrations.set(.pending, of: activity.activityID)
        case .end(let id, _): registrations.set(.ended, of: id)
        // A log-out deletes these tokens, and ActivityKit may not deliver them again in this launch.
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
    /// Reads the file and the installation id, if that was not possible before (C10, C17). Only both together show a reinstall.
    func load() {
        guard installationID == nil,
            let (bytes, (id, isFormer)) = try? (configuration.storage.read(), configuration.installationIDs.current())
        else { return }
        installationID = id
        if let bytes {
            if let state = StoredState(bytes) {
                (self.state, written) = (state, bytes)
            } else {
                configuration.storage.setAside()
                emit(.fileSetAside)
            }
        } else if isFormer {
            // The keychain outlives the app. The former install's user must not receive pushes on this one.
            add(.logOut, created)
        }
        for mutation in deferred { mutation(self) }
        deferred = []
        // The facts of this phone changed since the last report.
        if !configuration.metadata.isEmpty, configuration.metadata != state.metadata {
            state.metadata = configuration.metadata
            add(.installation(aliases: nil, metadata: state.metadata), configuration.clock.now())
        }
    }

    /// Writes the file if it lacks a change. If that fails, the next mutation tries again.
    func save() {
        let bytes = state.bytes
        if bytes != written, configuration.storage.write(bytes) { written = bytes }
    }
}
