extension Verdict {
    /// The registry may have merged the report, though it refused it (R0).
    var tookTheTime: Bool {
        switch self {
        case .accepted: true
        case .refused(let status, _): status == 409 || status == 410
        case .repeatLater, .unanswered: false
        }
    }

    /// The registry has refused the report for its own times, and stored nothing of it (R5); after `activity-expired` what is stored
    /// may be over as well, and nothing depends on its time any more.
    var refusesTheTime: Bool {
        guard case .refused(_, let problem) = self else { return false }
        return problem.code == "clock-skew" || problem.code == "activity-expired"
    }
}

extension TransportAnswer {
    /// The registry's clock when it answered: `serverTime` of a problem, else `Date`; nil when the answer is not the registry's.
    func serverTime(_ verdict: Verdict) -> Timestamp? {
        switch verdict {
        case .unanswered: nil
        case .refused(_, let problem): problem.serverTime.flatMap(Timestamp.init(text:)) ?? date
        case .accepted: date
        // A proxy may have given it.
        case .repeatLater: nil
        }
    }

    private var date: Timestamp? { self["Date"].flatMap(Timestamp.init(httpDate:)) }
}
