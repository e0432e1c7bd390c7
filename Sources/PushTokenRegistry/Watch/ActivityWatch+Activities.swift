import Foundation

/// An activity that is followed until it is over.
struct FollowedActivity: Sendable {
    let type: any ActivityTypeAdapter
    let activity: any SystemActivity
    /// Subscribed to when the activity was observed, so that no element is missed.
    let tokens: AsyncStream<Data>
    let phases: AsyncStream<ActivityPhase>
    var tasks: [Task<Void, Never>] = []

    init(_ activity: any SystemActivity, of type: any ActivityTypeAdapter) {
        (self.type, self.activity) = (type, activity)
        (tokens, phases) = (activity.tokens(), activity.phases())
    }
}

extension ActivityWatch {
    /// ActivityKit listed activities, or delivered one in the stream.
    func see(_ activities: [FollowedActivity]) {
        let uptime = clock.now().uptime
        // All activities of a launch have one time, the end of its first second.
        for activity in activities { see(activity, at: max(uptime, settled ?? uptime)) }
        endDuplicates()
        if ledger.isWaitingForToken { Task { [weak self] in await self?.stayAwakeInBackground() } }
    }

    private func see(_ observed: FollowedActivity, at uptime: Duration) {
        let activity = observed.activity
        if !ledger.knows(activity.id) {
            ledger.see(activity, of: observed.type, at: uptime)
            if ledger.runs(activity.id) {
                follow(observed)
            } else {
                // It ended while the app did not run, so the reason is unknown.
                sink?.report(.end(activityID: activity.id, isDismissal: false), at: clock.now())
            }
        }
        read(activity)
    }

    /// The properties may contain changes that the streams deliver later or never (C2).
    private func read(_ activity: any SystemActivity) {
        changed(to: activity.phase, activity.id)
        if let token = activity.token { found(token, ofActivity: activity.id) }
    }

    private func follow(_ observed: FollowedActivity) {
        let id = observed.activity.id
        var followed = observed
        followed.tasks = [
            listen(to: observed.tokens) { await $0.found($1, ofActivity: id) },
            listen(to: observed.phases) { await $0.changed(to: $1, id) },
        ]
        self.followed[id] = followed
    }

    private func found(_ token: Data, ofActivity id: String) {
        guard let followed = followed[id], ledger.takes(token, of: id) else { return }
        sink?.report(.registration(registration(of: followed.activity, followed.type, token)), at: clock.now())
        endDuplicates()
        checkWake()
    }

    private func registration(
        of activity: any SystemActivity,
        _ type: any ActivityTypeAdapter,
        _ token: Data?
    ) -> ActivityRegistration {
        var registration = ActivityRegistration(activityID: activity.id, token: token.map { PushToken($0) })
        registration.attributesType = type.name
        registration.aliases = activity.aliases.mapValues { [$0] }
        registration.startsAt = activity.startsAt.map { Timestamp($0) }
        registration.frequentPushesEnabled = system.areFrequentPushesEnabled
        registration.pushType = type.pushType == .token ? nil : type.pushType
        return registration
    }

    /// A swipe needs the Lock Screen or Notification Center, and ActivityKit delivers changes of a suspension within this time.
    private static let timeOnScreen = Duration.seconds(5)

    private func changed(to phase: ActivityPhase, _ id: String) {
        let uptime = clock.now().uptime
        let isOnScreen = activeSince.map { uptime - $0 >= Self.timeOnScreen } ?? false
        if let end = ledger.end(by: phase, of: id, isOnScreen: isOnScreen, at: uptime) {
            sink?.report(end, at: clock.now())
            unfollow(id)
            checkWake()
        }
        endDuplicates()
    }

    private func unfollow(_ id: String) {
        for task in followed.removeValue(forKey: id)?.tasks ?? [] { task.cancel() }
    }

    /// The app is about to end an activity, so its dismissal is not the user's.
    package func endsHere(_ id: String) { ledger.endsHere(id) }

    /// Ends activities on the screen after a log-out, which has reported their ends.
    nonisolated func end(_ activities: [any SystemActivity]) {
        Task {
            for activity in activities { await close(activity.id) }
            for activity in activities { await activity.end() }
        }
    }

    private func close(_ id: String) {
        ledger.close(id)
        unfollow(id)
    }

    private func endDuplicates() {
        for id in ledger.duplicates() {
            guard let activity = followed[id]?.activity else { continue }
            ledger.endsHere(id)
            Task { await activity.end() }
        }
    }

    /// Reports all that runs, if ActivityKit's list is reliable now (C7). Each token has a registration of its own.
    func reportFullState() async {
        guard await system.isProtectedDataAvailable(), let settled, clock.now().uptime >= settled else { return }
        // The time first, so that an activity that begins during the reading is observed later than the list.
        let time = clock.now()
        let listed = types.flatMap { type in type.activities().map { (activity: $0, type: type) } }
        let ids = Set(listed.map(\.activity.id))
        // The list may lack an activity that the stream has delivered.
        let unlisted = followed.values.filter { !ids.contains($0.activity.id) }
        let all = listed + unlisted.map { (activity: $0.activity, type: $0.type) }
        let running = all.filter(\.activity.phase.runs).sorted { $0.activity.id < $1.activity.id }
        sink?.report(.fullState(running.map { registration(of: $0.activity, $0.type, nil) }), at: time)
        see(listed.filter { !ledger.knows($0.activity.id) }.map { FollowedActivity($0.activity, of: $0.type) })
        for followed in followed.values { read(followed.activity) }
    }
}
