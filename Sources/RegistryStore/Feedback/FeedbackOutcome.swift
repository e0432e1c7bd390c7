import RegistryCore

/// The outcome of a batch of reports.
public struct FeedbackOutcome: Sendable, Hashable {
    /// For each report, in the order given, what was done, or why it was not taken.
    public internal(set) var results: [Result<FeedbackResult, Problem>] = []
    /// The kinds of token whose burst guard these reports tripped.
    public internal(set) var trippedKinds: [String] = []
}
