extension Report {
    /// This report after an earlier one of the same key that was not answered: one that has the effect of both (R0).
    func merging(earlier: Report, observedAt times: (earlier: Timestamp, later: Timestamp)) -> Report {
        switch (self, earlier) {
        case (.registration(let later), .registration(let earlier)):
            .registration(later.merging(earlier: earlier, observedAt: times))
        case (.fullState(let later), .fullState(let earlier)):
            // The later list is all that runs; what the earlier one knew of the same activities stays known.
            .fullState(
                later.map { activity in
                    let same = earlier.first { $0.activityID == activity.activityID }
                    return same.map { activity.merging(earlier: $0, observedAt: times) } ?? activity
                }
            )
        // Ended is final, and the first end says how: a dismissal also follows each end of the app's own (C6).
        case (.end, .end): earlier
        default: self
        }
    }
}
