/// The background tasks that keep the app awake.
struct Wake: Sendable {
    var tasks: [BackgroundTask] = []
    var isBeginning = false
    /// By the monotonic clock.
    var deadline = Duration.zero
    var timer: Task<Void, Never>?
}

extension ActivityWatch {
    /// iOS kills an app after 30 s.
    package static let longestWake = Duration.seconds(25)

    /// The state of the app changed.
    func changed(to transition: AppTransition) async {
        switch transition {
        case .foreground, .unlock:
            sink.retryNow()
            readStartTokens()
            await reportFullState()
            await readWidgetToken()
        case .active: activeSince = clock.now().uptime
        case .inactive: activeSince = nil
        case .background(let task):
            activeSince = nil
            hold(task)
        }
    }

    /// Reports are sent: start tokens may have changed without notice (C3).
    package nonisolated func reportsGoOut() {
        Task { [weak self] in
            await self?.readStartTokens()
            await self?.stayAwakeInBackground()
        }
    }

    package nonisolated func reportsSettled() { Task { [weak self] in await self?.checkWake() } }

    /// iOS woke the app and suspends it within seconds: an activity's first token may still come, and reports wait for responses.
    func stayAwakeInBackground() {
        guard wake.tasks.isEmpty, !wake.isBeginning else { return }
        wake.isBeginning = true
        Task { [weak self, system] in
            let task = await system.isInBackground() ? await system.beginBackgroundTask() : nil
            await self?.begins(task)
        }
    }

    private func begins(_ task: BackgroundTask?) {
        wake.isBeginning = false
        if let task { hold(task) }
    }

    /// Holds a background task until all followed activities have their tokens and the outbox is idle, for at most 25 s.
    private func hold(_ task: BackgroundTask) {
        wake.tasks.append(task)
        wake.deadline = clock.now().uptime + Self.longestWake
        wake.timer?.cancel()
        wake.timer = Task { [weak self, clock, deadline = wake.deadline] in
            await clock.sleep(until: deadline)
            if !Task.isCancelled { await self?.endWake() }
        }
        checkWake()
    }

    func checkWake() {
        guard !wake.tasks.isEmpty, !ledger.isWaitingForToken else { return }
        Task { [weak self, sink, deadline = wake.deadline] in
            if await sink.isIdle(deadline) { await self?.endIdleWake() }
        }
    }

    /// Another activity may have begun while the outbox was asked.
    private func endIdleWake() async { if !ledger.isWaitingForToken { await endWake() } }

    /// Gives the rest to the system, and lets it suspend the app (C19).
    private func endWake() async {
        guard !wake.tasks.isEmpty else { return }
        let tasks = wake.tasks
        wake.timer?.cancel()
        wake = Wake()
        await sink.submitBackgroundUploads()
        for task in tasks { task.end() }
    }
}
