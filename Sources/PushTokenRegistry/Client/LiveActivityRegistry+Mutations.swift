import Foundation

/// A change of the client's state. The client processes one at a time, in their order.
typealias Mutation = @Sendable (isolated LiveActivityRegistry) -> Void

extension LiveActivityRegistry {
    nonisolated func enqueue(_ mutation: @escaping Mutation) { mutations.yield(mutation) }

    /// For a mutation that depends on times or the user, which the file contains.
    nonisolated func enqueueLoaded(_ mutation: @escaping Mutation) {
        guard !configuration.isSuppressed else { return }
        enqueue { client in
            if client.installationID == nil { client.deferred.append(mutation) } else { mutation(client) }
        }
    }

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

    func add(_ report: Report, _ time: DeviceTime, of former: Owner? = nil) {
        if case .installationToken(.widget, let token) = report {
            guard token != nil || state.hasWidgetToken else { return }
            state.hasWidgetToken = token != nil
        }
        notice(time)
        let (id, observedAt) = (UInt64.random(in: .min ... .max), state.clock.observe(time))
        let entry = OutboxEntry(id: id, report: report, observedAt: observedAt, owner: former ?? owner)
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
    func notice(_ time: DeviceTime) { if let shift = state.clock.notice(time) { move(by: shift, time) } }

    /// - Parameter notAccepted: an entry that the registry cannot have accepted.
    func move(by shift: Duration, _ time: DeviceTime, notAccepted: UInt64? = nil) {
        let (clock, now) = (state.clock, state.clock.corrected(time))
        let latest = state.outbox.move(by: shift, after: clock.floor, until: now, notAccepted: notAccepted)
        state.clock.moved(latest: latest)
    }

    /// Reads the file and the installation id, if that was not possible before (C10, C17). Only both together show a reinstall.
    func load() {
        guard installationID == nil, let (bytes, (id, isFormer)) = readStores() else { return }
        installationID = id
        if let bytes {
            if let state = StoredState(bytes) {
                (self.state, written) = (state, bytes)
            } else {
                configuration.storage.setAside()
                emit(.fileSetAside)
            }
        } else if isFormer {
            // The keychain outlives the app. The former install's user must not receive pushes on this one. If no file can be
            // written, each launch looks like a new install.
            save()
            if written != nil { add(.logOut, created) }
        }
        for mutation in deferred { mutation(self) }
        deferred = []
        // The facts of this phone changed since the last report.
        if !configuration.metadata.isEmpty, configuration.metadata != state.metadata {
            state.metadata = configuration.metadata
            add(.installation(aliases: nil, metadata: state.metadata), configuration.clock.now())
        }
    }

    /// Nil while the phone is locked or the keychain fails, which is logged once.
    private func readStores() -> (Data?, (id: String, isFormer: Bool))? {
        do { return (try configuration.storage.read(), try configuration.installationIDs.current()) } catch {
            guard let status = (error as? Locked)?.status, status != keychainStatus else { return nil }
            configuration.log(.error, "the keychain failed with status \(status)")
            keychainStatus = status
            return nil
        }
    }

    /// Writes the file if it lacks a change. If that fails, the next mutation tries again.
    func save() {
        let bytes = state.bytes
        if bytes != written, configuration.storage.write(bytes) { written = bytes }
    }

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
        let former = owner
        watch?.findLate { [weak self, clock = configuration.clock] activities in
            self?.enqueue { $0.end(activities, of: former, clock.now()) }
        }
        end(running, of: former, time)
        add(.logOut, time)
        // The publishable key reports what is left.
        state.outbox.credentialCame(for: former)
        (state.user, source) = (nil, nil)
    }

    private func end(_ activities: [any SystemActivity], of former: Owner, _ time: DeviceTime) {
        for activity in activities { add(.end(activityID: activity.id, isDismissal: false), time, of: former) }
        if configuration.endsActivitiesOnSignOut { watch?.end(activities) }
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
        } else if entry.report.isFinal, entry.owner != owner {
            // Its user has signed out meanwhile, so the key reports it.
            state.outbox.credentialIsMissing(for: entry, until: uptime)
        } else {
            state.outbox.needsUser(entry.id)
        }
    }

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
