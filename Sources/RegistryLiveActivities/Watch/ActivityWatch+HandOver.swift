extension ActivityWatch {
    /// Reports that nobody answers within this time after iOS woke the app are handed over: it gives the app some seconds.
    private static let answerTimeout = Duration.seconds(5)

    /// Reports went out. In the background iOS says nothing before it stops the app again (C19).
    package func reportsWentOut() async {
        guard !isAboutToHandOver, await phone.isInBackground() else { return }
        isAboutToHandOver = true
        await phone.stayAwake { [clock, outlet] in
            await clock.sleep(until: clock.now().uptime + Self.answerTimeout)
            await outlet.handOver()
        }
        isAboutToHandOver = false
    }

    /// The app goes to the background: what waits is handed over at once. No later moment waits for that.
    func handOver() { Task { [phone, outlet] in await phone.stayAwake(outlet.handOver) } }
}
