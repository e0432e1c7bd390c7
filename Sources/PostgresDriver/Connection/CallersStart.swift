/// What was done of a closure that was begun on its caller's thread, for the connection's own thread to go on with.
///
/// The closure runs anew there. Its round trips that were answered are answered from here, and the one that was sent and
/// was not answered in time is waited for, so that nothing is done twice.
struct CallersStart {
    /// Until when answers are waited for; nil once the connection's own thread goes on.
    var patience: Deadline?
    private var answered: [[PostgresResult]] = []
    private var open: RoundTrip?

    init(patience: Deadline) { self.patience = patience }

    /// Whether something was sent that is not answered.
    var isOpen: Bool { open != nil }

    /// The results of the next round trip that was answered before.
    mutating func takeAnswered() -> [PostgresResult]? {
        guard patience == nil, !answered.isEmpty else { return nil }
        return answered.removeFirst()
    }

    /// The round trip that was sent before.
    mutating func takeOpen() -> RoundTrip? {
        guard patience == nil else { return nil }
        defer { open = nil }
        return open
    }

    /// Keeps the results of a round trip, for the case that a later one is not answered in time.
    mutating func keep(_ results: [PostgresResult]) {
        if patience != nil { answered.append(results) }
    }

    /// Keeps a round trip that was not answered in time.
    mutating func leaveOpen(_ trip: RoundTrip) { open = trip }
}

extension PostgresError {
    /// The caller's thread waits no longer; the connection's own goes on. No caller ever sees it.
    static var notYet: PostgresError { PostgresError(.notYet, outcome: .nothingTookEffect) }
}

extension PostgresError.Code {
    static let notYet = Self(rawValue: "notYet")
}
