import RegistryCore

package struct FeedbackOutcome: Sendable, Hashable {
    /// In the order of the reports.
    package let results: [FeedbackResult]
    /// The kinds of token whose burst guard these reports tripped.
    package let trippedKinds: [String]
}
