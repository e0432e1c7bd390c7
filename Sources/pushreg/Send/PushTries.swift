/// How often one push is sent, and how long it waits in between.
enum PushTries {
    /// A trial is for somebody who looks on: soon it is better to hear that it failed.
    static let most = 4
    /// The longest `Retry-After` that is waited for.
    static let longestPause = Duration.seconds(30)

    /// The pause before the next try; nil when there is to be none.
    ///
    /// - Parameters:
    ///   - tries: how many there were, from 1.
    ///   - jitter: 0 to 1, so that several senders do not come back at once.
    static func pause(after outcome: PushOutcome, tries: Int, jitter: Double) -> Duration? {
        guard tries < most else { return nil }
        let backOff = Duration.seconds(1 << (tries - 1)) * (0.5 + jitter / 2)
        switch outcome {
        case .answered(let answer):
            guard answer.status == 429 || answer.status >= 500, !answer.isAboutSender else { return nil }
            let pause = answer.retryAfter ?? backOff
            return pause <= longestPause ? pause : nil
        // Nobody is there: a second look a moment later would be no different.
        case .unanswered(_, let mayHaveArrived): return mayHaveArrived ? backOff : nil
        }
    }
}
