import Foundation

/// All running activities of an installation at one time.
package struct FullState: Sendable, Hashable {
    /// The device's clock. It applies to all items.
    package let observedAt: Date
    package let items: [Item]

    package init(observedAt: Date, items: [Item]) {
        self.observedAt = observedAt
        self.items = items
    }

    /// A listed activity. It counts as present even if its registration is faulty.
    package struct Item: Sendable, Hashable {
        package let activityID: ActivityID
        package let registration: ActivityRegistration?
        package let problem: Problem?
        package var pointer = ""

        package init(activityID: ActivityID, registration: ActivityRegistration) {
            self.activityID = activityID
            self.registration = registration
            self.problem = nil
        }

        /// An activity that only counts as present.
        package init(activityID: ActivityID, problem: Problem) {
            self.activityID = activityID
            self.registration = nil
            self.problem = problem
        }

        package func refused(for problem: Problem) -> Item {
            var item = Item(activityID: activityID, problem: self.problem ?? problem)
            item.pointer = pointer
            return item
        }
    }

    /// A copy in which each activity and each token value counts only at its first position.
    ///
    /// All items have one observation time, so a repetition could only contradict the first item. The repetition gets a
    /// problem in its position, and its activity counts as present.
    package var withoutRepetitions: FullState {
        var (activities, tokens): (Set<ActivityID>, Set<PushToken>) = ([], [])
        let items = items.map { item in
            guard activities.insert(item.activityID).inserted else {
                return item.repeating("activityId", "repeats an activity; list each activity once")
            }
            guard let token = item.registration?.token, !tokens.insert(token).inserted else { return item }
            return item.repeating("token", "repeats the token of another activity; each activity has its own token")
        }
        return FullState(observedAt: observedAt, items: items)
    }
}

extension FullState.Item {
    fileprivate func repeating(_ member: String, _ detail: String) -> FullState.Item {
        refused(for: Problem(faults: [JSONFault(pointer: "\(pointer)/\(member)", detail: detail)]))
    }
}

package struct FullStateResults: Sendable, Hashable {
    package let results: [ItemResult]
    /// The activities that the state dismissed, in the order of their ids.
    package let ended: [ActivityID]

    package init(results: [ItemResult], ended: [ActivityID]) {
        self.results = results
        self.ended = ended
    }

    package struct ItemResult: Sendable, Hashable {
        package let activityID: ActivityID
        package let result: Result<RegistrationOutcome, Problem>

        package init(activityID: ActivityID, result: Result<RegistrationOutcome, Problem>) {
            self.activityID = activityID
            self.result = result
        }
    }
}
