import Foundation

/// All running activities of an installation at one time.
package struct FullState: Sendable, Hashable {
    /// The device's clock. It applies to all items.
    package let observedAt: Date
    package let items: [Item]

    package init(observedAt: Date, items: [Item]) { (self.observedAt, self.items) = (observedAt, items) }

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

        fileprivate func repeating(_ member: String, _ detail: String) -> Item {
            refused(for: Problem(faults: [JSONFault(pointer: "\(pointer)/\(member)", detail: detail)]))
        }

        /// The failure case is an item without a readable id.
        ///
        /// - Parameter room: The remaining number of faults. One is always reported.
        fileprivate static func read(_ json: JSONReader, mostFaults room: inout Int) -> Result<Item, Problem> {
            var json = json
            let id = json.string("activityId", ActivityID.init)
            let registration = ActivityRegistration(from: &json, requiresToken: false)
            var problem = Problem(faults: json.faults)
            problem.errors = Array(json.faults.prefix(max(room, 1)))
            room -= json.faults.count
            guard let id else { return .failure(problem) }
            var item = Item(activityID: id, registration: registration)
            item.pointer = json.pointer.text
            return .success(json.faults.isEmpty ? item : item.refused(for: problem))
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

/// The readable items of a body, and the positions of the other items in the response.
package struct FullStateBody: Sendable, Hashable {
    package let readable: FullState
    /// One element per item of the body: nil for a readable item.
    private let problems: [Problem?]

    package static let maximumItems = 1000

    /// Reads `{observedAt, activities: […]}`. A malformed item gets a problem in its position. If its id is readable,
    /// its activity counts as present.
    package static func read(_ json: inout JSONReader) -> FullStateBody? {
        let observedAt = json.required("observedAt", Date.read)
        let elements = json.elements("activities", maximumCount: maximumItems)
        guard let observedAt, let elements else { return nil }
        var (items, problems): ([FullState.Item], [Problem?]) = ([], [])
        // The limit of faults in a response, except for the first one of each item.
        var room = 1000
        for element in elements {
            switch FullState.Item.read(element, mostFaults: &room) {
            case .success(let item):
                items.append(item)
                problems.append(nil)
            case .failure(let problem): problems.append(problem)
            }
        }
        return FullStateBody(readable: FullState(observedAt: observedAt, items: items), problems: problems)
    }

    /// Merges the store's results with the problems of unreadable items.
    ///
    /// A missing result becomes a problem in its position, so that the other items keep theirs.
    package func results(_ merged: FullStateResults) -> [FullStateResult] {
        var (items, results) = (readable.items[...], merged.results[...])
        return problems.map { problem in
            if let problem { return FullStateResult(activityID: nil, result: .failure(problem)) }
            let result = results.popFirst() ?? .failure(.lostResult)
            return FullStateResult(activityID: items.popFirst()?.activityID, result: result)
        }
    }
}

package struct FullStateResult: Sendable, Hashable, JSONObjectEncodable {
    /// Nil if the id was unreadable.
    package let activityID: ActivityID?
    package let result: Result<RegistrationOutcome, Problem>

    package func writeMembers(to json: inout JSONWriter) {
        json.member("activityId", ifPresent: activityID?.rawValue)
        switch result {
        case .success(let outcome): json.member("outcome", outcome.rawValue)
        case .failure(let problem): json.member("problem", problem)
        }
    }
}
