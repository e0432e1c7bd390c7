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
        /// Nil for an activity that only counts as present, because of its problem.
        package private(set) var registration: ActivityRegistration?
        package private(set) var problem: Problem?
        package var pointer = ""

        package init(activityID: ActivityID, registration: ActivityRegistration) {
            self.activityID = activityID
            self.registration = registration
        }

        package func refused(for problem: Problem) -> Item {
            var item = self
            (item.registration, item.problem) = (nil, self.problem ?? problem)
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
    /// One per item of the full state.
    package let results: [Result<RegistrationOutcome, Problem>]
    /// The activities that the state dismissed, in the order of their ids.
    package let ended: [ActivityID]

    package init(results: [Result<RegistrationOutcome, Problem>], ended: [ActivityID]) {
        self.results = results
        self.ended = ended
    }
}
