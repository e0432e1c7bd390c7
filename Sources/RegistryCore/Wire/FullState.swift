import Foundation

/// All running activities of an installation, as the app saw them at one moment.
package struct FullState: Sendable, Hashable {
    /// The device's clock when the app looked at its activities; it holds for all items.
    package let observedAt: Date
    package let items: [Item]

    package init(observedAt: Date, items: [Item]) {
        self.observedAt = observedAt
        self.items = items
    }

    /// One listed activity, with its registration or its fault. Either way it is present.
    package struct Item: Sendable, Hashable {
        package let activityID: ActivityID
        /// The registration that the item gives; nil when it has a ``problem``.
        package let registration: ActivityRegistration?
        /// The fault of the item; nil when it could be read.
        package let problem: Problem?
        /// A JSON pointer into the body.
        package var pointer = ""

        package init(activityID: ActivityID, registration: ActivityRegistration) {
            self.activityID = activityID
            self.registration = registration
            self.problem = nil
        }

        /// It says only that its activity is present.
        package init(activityID: ActivityID, problem: Problem) {
            self.activityID = activityID
            self.registration = nil
            self.problem = problem
        }

        /// The item with only its presence.
        package func refused(for problem: Problem) -> Item {
            var item = Item(activityID: activityID, problem: self.problem ?? problem)
            item.pointer = pointer
            return item
        }
    }

    /// The state in which each activity and each token value counts once, where it is listed first.
    ///
    /// All items were observed at one time, so a repetition could only contradict. It is refused in its position, and
    /// its activity counts as present.
    package var withoutRepetitions: FullState {
        var (activities, tokens): (Set<ActivityID>, Set<PushToken>) = ([], [])
        let items = items.map { item in
            guard activities.insert(item.activityID).inserted else {
                return item.repeating("activityId", "names an activity that the list has before; list each one once")
            }
            guard let token = item.registration?.token, !tokens.insert(token).inserted else { return item }
            return item.repeating("token", "is that of an activity listed before; each activity has a token of its own")
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
    /// The activities that the state dismissed, as it leaves them out; in the order of their ids.
    package let ended: [ActivityID]

    package init(results: [ItemResult], ended: [ActivityID]) {
        self.results = results
        self.ended = ended
    }

    package struct ItemResult: Sendable, Hashable {
        package let activityID: ActivityID
        /// The effect on the activity, or why the item was not taken.
        package let result: Result<RegistrationOutcome, Problem>

        package init(activityID: ActivityID, result: Result<RegistrationOutcome, Problem>) {
            self.activityID = activityID
            self.result = result
        }
    }
}
