import Foundation

package protocol ReportSink: AnyObject, Sendable {
    func report(_ report: Report, at time: DeviceTime?)
    func retryNow()
    /// Whether nothing is under way, nor due by a time of the monotonic clock.
    func isIdle(until uptime: Duration) async -> Bool
    func submitBackgroundUploads() async
}

extension LiveActivityRegistry: ReportSink {}

/// Watches a phone: subscribes to all streams of the followed types and reports the results.
///
/// Each turn of the actor reads and reports without a suspension, so that reports are in the order of the observations.
package actor ActivityWatch {
    let system: any ActivitySystem
    let clock: any ClientClock
    /// The client, which owns the watch.
    private(set) weak var sink: (any ReportSink)?
    private let subscriptions = LockedValue(Subscriptions())

    var followed: [String: FollowedActivity] = [:] {
        didSet { known.withLock { [followed] in $0 = followed.mapValues(\.activity) } }
    }
    private let known = LockedValue<[String: any SystemActivity]>([:])
    /// Ends the activities of a user who signed out before ActivityKit's list was reliable.
    let endLate = LockedValue<[@Sendable ([any SystemActivity]) -> Void]>([])
    /// Activities that are over, and were reported.
    var over: Set<String> = []
    /// Activities that the app ends, so their dismissal is not the user's.
    var ownEnds: Set<String> = []
    /// The start tokens that were reported, and when.
    private var startTokens: [String: (token: Data, uptime: Duration)] = [:]
    private var isSwitchedOff = false
    /// Nil before it was read.
    private var widgetToken: Data??
    private var widgetTokenMissingSince: Duration?
    /// Since when the app is active, by the monotonic clock.
    var activeSince: Duration?
    /// The background task that keeps the app awake. Its deadline is by the monotonic clock.
    var wake: (end: @Sendable () -> Void, deadline: Duration, timer: Task<Void, Never>)?

    package init(system: any ActivitySystem, clock: any ClientClock, sink: any ReportSink) {
        (self.system, self.clock, self.sink) = (system, clock, sink)
    }

    deinit { subscriptions.withLock { $0.transitions?.cancel() } }

    private struct Subscriptions: Sendable {
        /// Ends with the watch, because a notification begins a background task.
        var transitions: Task<Void, Never>?
        var types: [any ActivityTypeAdapter] = []
        var isStarted = false
        var settled: Duration?
    }

    package nonisolated var types: [any ActivityTypeAdapter] { subscriptions.withLock { $0.types } }

    /// The earliest time at which ActivityKit's list is reliable (C7); nil before the start. ActivityKit lists nothing for a moment
    /// after a launch.
    nonisolated var settled: Duration? { subscriptions.withLock { $0.settled } }

    /// Follows one more type. A type that is followed already stays as it is.
    package nonisolated func follow(_ type: any ActivityTypeAdapter) {
        let isStarted = subscriptions.withLock { subscriptions in
            guard !subscriptions.types.contains(where: { $0.name == type.name }) else { return false }
            subscriptions.types.append(type)
            return subscriptions.isStarted
        }
        if isStarted { subscribe(to: [type]) }
    }

    /// Begins to watch. It subscribes before it returns, and waits for nothing (C1).
    package nonisolated func start() {
        let types = subscriptions.withLock { subscriptions in
            defer { subscriptions.isStarted = true }
            return subscriptions.isStarted ? nil : subscriptions.types
        }
        guard let types else { return }
        listen(to: system.enablements()) { watch, _ in await watch.readStartTokens() }
        let transitions = listen(to: system.transitions()) { await $0.changed(to: $1) }
        subscriptions.withLock { $0.transitions = transitions }
        subscribe(to: types)
    }

    /// The activities that the phone shows or has scheduled. The list may lack an activity that the stream has delivered.
    package nonisolated func runningActivities() -> [any SystemActivity] {
        let listed = types.flatMap { $0.activities() }.map { ($0.id, $0) }
        return known.withLock { $0 }.merging(listed) { $1 }.values.filter(\.phase.runs)
    }

    /// Calls `end` once ActivityKit's list is reliable, if it is not yet, with the activities that it lacked.
    nonisolated func findLate(_ end: @escaping @Sendable ([any SystemActivity]) -> Void) {
        guard let settled, clock.now().uptime < settled else { return }
        endLate.withLock { if $0.isEmpty { $0 = [end] } }
    }

    /// Streams before lists: an activity that begins in between is in both, and none is in neither.
    private nonisolated func subscribe(to types: [any ActivityTypeAdapter]) {
        let settled = clock.now().uptime + .seconds(1)
        subscriptions.withLock { $0.settled = settled }
        for type in types {
            listen(to: type.newActivities()) { await $0.see([FollowedActivity($1, of: type)]) }
            listen(to: type.startTokens()) { await $0.found($1, of: type) }
        }
        let activities = types.flatMap { type in type.activities().map { FollowedActivity($0, of: type) } }
        Task { [weak self] in
            await self?.see(activities)
            await self?.readStartTokens()
            await self?.readWidgetToken()
        }
        Task { [weak self, clock] in
            await clock.sleep(until: settled)
            await self?.reportFullState()
            // A second later, because start tokens can be late, and then daily (C3).
            var next: Duration? = settled + .seconds(1)
            while let time = next {
                await clock.sleep(until: time)
                await self?.readStartTokens()
                next = await self?.nextConfirmation
            }
        }
    }

    /// A start token is confirmed once a day: it becomes stale without notice, and its last confirmation is its only sign of life (C3).
    private static let confirmation = Duration.seconds(24 * 3600)

    /// Reads the switch and all start tokens: the stream does not deliver a token that went stale (C3).
    func readStartTokens() {
        if isSwitchedOff == system.areActivitiesEnabled {
            isSwitchedOff.toggle()
            startTokens = [:]
            // Removes the start tokens of a user who has switched Live Activities off (C4).
            let removed = isSwitchedOff ? types : []
            for type in removed { sink?.report(.startToken(attributesType: type.name, nil), at: clock.now()) }
        }
        for type in types { if let token = type.startToken() { found(token, of: type) } }
    }

    /// Reports a start token that is another one than before, or the same after a day.
    private func found(_ token: Data, of type: any ActivityTypeAdapter) {
        let now = clock.now()
        let last = startTokens[type.name]
        let isConfirmed = last.map { $0.token == token && now.uptime - $0.uptime < Self.confirmation } ?? false
        guard !isSwitchedOff, !isConfirmed else { return }
        startTokens[type.name] = (token, now.uptime)
        sink?.report(.startToken(attributesType: type.name, PushToken(token)), at: now)
    }

    private var nextConfirmation: Duration {
        let uptime = clock.now().uptime
        return startTokens.values.map { $0.uptime + Self.confirmation }.filter { $0 > uptime }.min()
            ?? uptime + Self.confirmation
    }

    /// Reports the widgets' token if it changed. If two reads some seconds apart find none, the client removes the token that an
    /// earlier launch reported. One read may find none before the token is generated.
    func readWidgetToken() async {
        let (token, now) = (await system.widgetToken(), clock.now())
        widgetTokenMissingSince = token == nil ? widgetTokenMissingSince ?? now.uptime : nil
        let isCertain = widgetTokenMissingSince.map { now.uptime - $0 >= .seconds(5) } ?? true
        guard widgetToken != .some(token), isCertain else { return }
        widgetToken = .some(token)
        sink?.report(.installationToken(.widget, token.map { PushToken($0) }), at: now)
    }

    /// iOS kills an app after 30 s.
    private static let longestWake = Duration.seconds(25)

    func changed(to transition: AppTransition) async {
        switch transition {
        case .foreground, .unlock:
            if case .foreground = transition { release() }
            sink?.retryNow()
            readStartTokens()
            await reportFullState()
            await readWidgetToken()
        case .active: activeSince = clock.now().uptime
        case .inactive: activeSince = nil
        case .background(let time):
            activeSince = nil
            hold(time)
        }
    }

    /// Reports are sent: start tokens may have changed without notice (C3).
    package nonisolated func reportsGoOut() {
        Task { [weak self] in
            await self?.readStartTokens()
            await self?.stayAwakeInBackground()
        }
    }

    /// iOS woke the app and suspends it within seconds: an activity's first token may still come, and reports wait for responses.
    func stayAwakeInBackground() async { if wake == nil, let time = await system.beginBackgroundTask() { hold(time) } }

    /// Holds a background task, in place of an earlier one, until all followed activities have their tokens and the outbox is idle,
    /// for at most 25 s, and until 5 s before iOS ends it, which are for giving the rest to the system.
    private func hold(_ time: BackgroundTime) {
        release()
        let deadline = clock.now().uptime + min(Self.longestWake, time.left - .seconds(5))
        let timer = Task { [weak self, clock] in
            await clock.sleep(until: deadline)
            // A task of its own, because the end cancels this one, and the credential source would notice.
            if !Task.isCancelled { Task { await self?.endWake() } }
        }
        wake = (time.end, deadline, timer)
        checkWake()
    }

    /// Ends the background task, and gives nothing to the system.
    private func release() {
        wake?.timer.cancel()
        wake?.end()
        wake = nil
    }

    /// A report is answered, or an activity has its token.
    package nonisolated func checkWake() { Task { [weak self] in await self?.endIdleWake() } }

    private func endIdleWake() async {
        guard let wake, !isWaitingForToken, await sink?.isIdle(until: wake.deadline) ?? true else { return }
        // Another activity may have begun while the outbox was asked.
        if !isWaitingForToken { await endWake() }
    }

    /// Gives the rest to the system, and lets it suspend the app (C19).
    private func endWake() async {
        guard let ending = wake else { return }
        ending.timer.cancel()
        wake = nil
        await sink?.submitBackgroundUploads()
        ending.end()
    }
}
