import Foundation

struct FollowedActivity: Sendable {
    let type: any ActivityTypeAdapter
    let activity: any SystemActivity
    /// Subscribed to when the activity was observed, so that no element is missed.
    let tokens: AsyncStream<Data>
    let phases: AsyncStream<ActivityPhase>
    var tasks: [Task<Void, Never>] = []
    var phase: ActivityPhase
    /// The token that was reported last.
    var token: Data?
    /// When it appeared on the screen. Of two activities with one time neither is known to be older.
    var shownAt = Duration.zero

    init(_ activity: any SystemActivity, of type: any ActivityTypeAdapter) {
        (self.type, self.activity, phase) = (type, activity, activity.phase)
        (tokens, phases) = (activity.tokens(), activity.phases())
    }

    var isWaitingForToken: Bool { phase.isShown && type.pushType == .token && token == nil }
    /// Of two shown activities with one name the older ends; nil if they may both stay.
    var uniqueName: String? { type.endsDuplicates && phase.isShown ? activity.aliases["liveactivityId"] : nil }
}

extension ActivityWatch {
    /// Handles each element of a stream, in order, as long as the watch exists.
    @discardableResult
    nonisolated func listen<Element: Sendable>(
        to stream: AsyncStream<Element>,
        _ handle: @escaping @Sendable (ActivityWatch, Element) async -> Void
    ) -> Task<Void, Never> {
        Task { [weak self] in
            for await element in stream {
                guard let self, !Task.isCancelled else { return }
                await handle(self, element)
            }
        }
    }

    /// ActivityKit listed activities, or delivered one in the stream.
    func see(_ activities: [FollowedActivity]) {
        let uptime = clock.now().uptime
        for activity in activities {
            // All activities of a launch have one time, the end of its first second, because ActivityKit may list them one by one.
            if !knows(activity.activity.id) { meet(activity, at: max(uptime, settled ?? uptime)) }
            read(activity.activity)
        }
        endDuplicates()
        if isWaitingForToken { Task { [weak self] in await self?.stayAwakeInBackground() } }
    }

    private func knows(_ id: String) -> Bool { followed[id] != nil || over.contains(id) }

    /// Whether a shown activity has not got its first token.
    var isWaitingForToken: Bool { followed.values.contains(where: \.isWaitingForToken) }

    private func meet(_ observed: FollowedActivity, at uptime: Duration) {
        let id = observed.activity.id
        guard observed.phase.runs else {
            over.insert(id)
            // It ended while the app did not run, so the reason is unknown.
            sink?.report(.end(activityID: id, isDismissal: false), at: clock.now())
            return
        }
        followed[id] = observed
        followed[id]?.shownAt = uptime
        followed[id]?.tasks = [
            listen(to: observed.tokens) { await $0.found($1, ofActivity: id) },
            listen(to: observed.phases) { await $0.changed(to: $1, id) },
        ]
    }

    /// The properties may contain changes that the streams deliver later or never (C2).
    private func read(_ activity: any SystemActivity) {
        changed(to: activity.phase, activity.id)
        if let token = activity.token { found(token, ofActivity: activity.id) }
    }

    /// Reports a token, unless it was reported or its activity is over (C2, C5).
    private func found(_ token: Data, ofActivity id: String) {
        guard let known = followed[id], known.token != token else { return }
        followed[id]?.token = token
        sink?.report(.registration(registration(of: known.activity, known.type, token)), at: clock.now())
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

    /// ActivityKit's longest time from an activity's start to its end.
    private static let longestLife = Duration.seconds(8 * 3600)

    /// The state of an activity changed, or was read again. The first sign of its end decides (C6): a dismissal without an end before it is
    /// the user's, unless the app ends the activity, the app is on the screen, or the activity is 8 hours old and iOS ended it.
    private func changed(to phase: ActivityPhase, _ id: String) {
        guard let known = followed[id] else { return }
        let uptime = clock.now().uptime
        followed[id]?.phase = phase
        if known.phase == .pending, phase.isShown { followed[id]?.shownAt = uptime }
        if !phase.runs {
            let isOnScreen = activeSince.map { uptime - $0 >= Self.timeOnScreen } ?? false
            let isOther = ownEnds.contains(id) || isOnScreen || uptime - known.shownAt >= Self.longestLife
            sink?.report(.end(activityID: id, isDismissal: phase == .dismissed && !isOther), at: clock.now())
            unfollow(id)
            checkWake()
        }
        endDuplicates()
    }

    private func unfollow(_ id: String) {
        for task in followed.removeValue(forKey: id)?.tasks ?? [] { task.cancel() }
        over.insert(id)
    }

    package func endsHere(_ id: String) { ownEnds.insert(id) }

    /// Ends activities on the screen after a log-out, which has reported their ends.
    nonisolated func end(_ activities: [any SystemActivity]) {
        Task {
            for activity in activities { await unfollow(activity.id) }
            for activity in activities { await activity.end() }
        }
    }

    /// Ends shown activities with the `liveactivityId` of a newer activity with a token (C8). Without a token the newer one could not be
    /// updated.
    private func endDuplicates() {
        let shown = followed.values.filter { $0.uniqueName != nil && !ownEnds.contains($0.activity.id) }
        for group in Dictionary(grouping: shown, by: \.uniqueName).values {
            let newest = group.filter { !$0.isWaitingForToken }.map(\.shownAt).max() ?? .zero
            for older in group where older.shownAt < newest {
                endsHere(older.activity.id)
                Task { await older.activity.end() }
            }
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
        let unknown = listed.filter { !knows($0.activity.id) }
        endLate.withLock { $0.popLast() }?(unknown.map(\.activity).filter(\.phase.runs))
        sink?.report(.fullState(running.map { registration(of: $0.activity, $0.type, nil) }), at: time)
        see(unknown.map { FollowedActivity($0.activity, of: $0.type) })
        for followed in followed.values { read(followed.activity) }
    }
}
