import RegistryCore

package struct FeedbackOutcome: Sendable, Hashable {
    /// In the order of the reports: the action, or why it was not taken.
    package internal(set) var results: [Result<FeedbackResult, Problem>] = []
    /// The kinds of token whose burst guard these reports tripped.
    package internal(set) var trippedKinds: [String] = []
}
