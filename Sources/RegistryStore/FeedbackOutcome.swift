import RegistryCore

/// What became of a batch of reports.
public struct FeedbackOutcome: Sendable, Hashable {
    /// A result for each report, in the order given.
    public internal(set) var results: [FeedbackResult] = []
    /// The kinds of token whose burst guard these reports tripped.
    public internal(set) var trippedKinds: [String] = []
}
