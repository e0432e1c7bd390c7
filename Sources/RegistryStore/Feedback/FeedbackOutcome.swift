import RegistryCore

package struct FeedbackOutcome: Sendable, Hashable {
    package let results: [FeedbackResult]
    package let trippedKinds: [String]
}
