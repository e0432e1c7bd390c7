extension Outbox {
    /// The most that the system is given at once.
    package static let mostHandedOver = 50

    /// All that the system may send while the app sleeps (C19): ends and log-outs first, then the newest.
    ///
    /// The system sends in whatever order. So nothing goes along that a waiting log-out must precede: once the next user has the
    /// installation, the log-out is refused. What was refused, or has to pause, waits for the app.
    package var toHandOver: [OutboxEntry] {
        let logOut = entries.filter { $0.report == .logOut && $0.refusedSince == nil }.map(\.observedAt).min()
        let ready = entries.filter { entry in
            guard entry.refusedSince == nil, entry.tries.refusals.isEmpty, !entry.tries.isAsked else { return false }
            return entry.report.isFinal || logOut.map { entry.observedAt < $0 } ?? true
        }
        let newest = ready.sorted { $0.observedAt > $1.observedAt }
        return Array(
            (newest.filter(\.report.isFinal) + newest.filter { !$0.report.isFinal }).prefix(Self.mostHandedOver)
        )
    }
}
