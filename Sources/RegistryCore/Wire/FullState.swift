import Foundation

/// All running activities of an installation, as the app saw them at one moment.
public struct FullState: Sendable, Hashable {
    public let observedAt: Date
    public let items: [Item]

    public init(observedAt: Date, items: [Item]) {
        self.observedAt = observedAt
        self.items = items
    }

    /// One listed activity: with what was said of it, or with what was wrong with that. Either way it is present.
    public struct Item: Sendable, Hashable {
        public let activityID: ActivityID
        public let registration: ActivityRegistration?
        public let problem: Problem?

        public init(activityID: ActivityID, registration: ActivityRegistration) {
            self.activityID = activityID
            self.registration = registration
            self.problem = nil
        }

        public init(activityID: ActivityID, problem: Problem) {
            self.activityID = activityID
            self.registration = nil
            self.problem = problem
        }
    }
}

/// What a full state did: a result for each item in the order given, and the activities that fell out.
public struct FullStateAnswer: Sendable, Hashable {
    public let results: [ItemResult]
    public let ended: [ActivityID]

    public init(results: [ItemResult], ended: [ActivityID]) {
        self.results = results
        self.ended = ended
    }

    public struct ItemResult: Sendable, Hashable {
        public let activityID: ActivityID
        public let result: Result<RegistrationOutcome, Problem>

        public init(activityID: ActivityID, result: Result<RegistrationOutcome, Problem>) {
            self.activityID = activityID
            self.result = result
        }
    }
}
