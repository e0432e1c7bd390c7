extension Report {
    /// This report after an earlier one of the same key that was not answered: one that has the effect of both (R0).
    func merging(earlier: Report, observedAt times: (earlier: Timestamp, later: Timestamp)) -> Report {
        switch (self, earlier) {
        case (.registration(let later), .registration(let earlier)):
            .registration(later.merging(earlier: earlier, observedAt: times))
        case (.fullState(let later), .fullState(let earlier)):
            .fullState(later.map { $0.merging(from: earlier, observedAt: times) })
        // Ended is final, and the first end says how: a dismissal also follows each end of the app's own (C6).
        case (.end, .end): earlier
        default: self
        }
    }
}

extension ActivityRegistration {
    /// The later list is all that runs; what the earlier one knew of the same activities stays known.
    fileprivate func merging(
        from earlier: [ActivityRegistration],
        observedAt times: (earlier: Timestamp, later: Timestamp)
    ) -> ActivityRegistration {
        guard let same = earlier.first(where: { $0.activityID == activityID }) else { return self }
        return merging(earlier: same, observedAt: times)
    }
}
