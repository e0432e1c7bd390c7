/// The background task that keeps the app awake.
struct Wake: Sendable {
    let end: @Sendable () -> Void
    /// By the monotonic clock.
    let deadline: Duration
    let timer: Task<Void, Never>
}

extension ActivityWatch {
    /// iOS kills an app after 30 s.
    package static let longestWake = Duration.seconds(25)

    /// The state of the app changed.
    func changed(to transition: AppTransition) async {
        switch transition {
        case .foreground, .unlock:
            sink?.retryNow()
            readStartTokens()
            await reportFullState()
            await readWidgetToken()
        case .active: activeSince = clock.now().uptime
        case .inactive: activeSince = nil
        case .background(let end):
            activeSince = nil
            hold(end)
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
    func stayAwakeInBackground() async {
        if wake == nil, let end = await system.beginBackgroundTask() { hold(end) }
    }

    /// Holds a background task, in place of an earlier one, until all followed activities have their tokens and the outbox is idle,
    /// for at most 25 s.
    private func hold(_ end: @escaping @Sendable () -> Void) {
        wake?.timer.cancel()
        wake?.end()
        let deadline = clock.now().uptime + Self.longestWake
        let timer = Task { [weak self, clock] in
            await clock.sleep(until: deadline)
            // A task of its own, because the end cancels this one, and the credential source would notice.
            if !Task.isCancelled { Task { await self?.endWake() } }
        }
        wake = Wake(end: end, deadline: deadline, timer: timer)
        checkWake()
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
