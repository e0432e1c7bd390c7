extension Verdict {
    /// The registry has merged the report, though it may have refused it (R0).
    var tookTheTime: Bool {
        switch self {
        case .accepted: true
        case .refused(let status, _): status == 409 || status == 410
        case .repeatLater, .unanswered: false
        }
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
