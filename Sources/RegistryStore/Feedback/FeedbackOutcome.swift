import RegistryCore

/// The outcome of a batch of reports.
package struct FeedbackOutcome: Sendable, Hashable {
    /// For each report, in the order given, what was done, or why it was not taken.
    package internal(set) var results: [Result<FeedbackResult, Problem>] = []
    /// The kinds of token whose burst guard these reports tripped.
    package internal(set) var trippedKinds: [String] = []
}
