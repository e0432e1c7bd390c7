import Foundation

/// A full state as a body gave it: what the store is told, and where in the answer its results belong.
package struct FullStateBody: Sendable, Hashable {
    /// The items whose activity could be read.
    package let readable: FullState
    /// One for each item of the body, in its order.
    private let places: [Place]

    /// The most items that one body may list.
    package static let maximumItems = 1000

    /// The most faults that all items together are told of, but for the first one of each.
    private static let maximumFaults = 1000

    private enum Place: Sendable, Hashable {
        /// The next of the items whose activity could be read.
        case item
        case unreadable(Problem)
    }

    /// Reads `{observedAt, activities: […]}`; nil and faults in the reader when the envelope is wrong.
    ///
    /// A malformed item is no fault of the body: it gets a problem in its place, and when its id can be read its
    /// activity counts as present.
    ///
    /// - Parameter now: what `startsAt` is compared with.
    package static func read(_ json: inout JSONReader, now: Date) -> FullStateBody? {
        let observedAt = json.timestamp("observedAt")
        let elements = json.elements("activities", maximumCount: maximumItems)
        guard let observedAt, let elements else { return nil }
        var (items, places): ([FullState.Item], [Place]) = ([], [])
        var room = maximumFaults
        for element in elements {
            switch FullState.Item.read(element, now: now, mostFaults: &room) {
            case .success(let item):
                items.append(item)
                places.append(.item)
            case .failure(let problem): places.append(.unreadable(problem))
            }
        }
        return FullStateBody(readable: FullState(observedAt: observedAt, items: items), places: places)
    }

    /// Brings the store's results, one for each readable item, back among the items that could not be read.
    ///
    /// An item whose result is missing has a problem in its place, so that the others keep theirs.
    package func results(_ answer: FullStateAnswer) -> [FullStateResult] {
        var items = readable.items[...]
        var results = answer.results[...]
        return places.map { place in
            switch place {
            case .item:
                let activityID = items.popFirst()?.activityID
                guard let result = results.popFirst() else {
                    return FullStateResult(activityID: activityID, result: .failure(.lostResult))
                }
                return FullStateResult(activityID: result.activityID, result: result.result)
            case .unreadable(let problem): return FullStateResult(activityID: nil, result: .failure(problem))
            }
        }
    }
}

/// The result for one listed activity; without an id when none could be read.
package struct FullStateResult: Sendable, Hashable {
    /// The id of the listed activity; nil when it could not be read.
    package let activityID: ActivityID?
    /// The effect on the activity, or why the item was not taken.
    package let result: Result<RegistrationOutcome, Problem>
}

extension FullState.Item {
    /// Reads an item; the failure is an item whose id cannot be read.
    ///
    /// - Parameter room: how many faults may be told still; one is told always.
    fileprivate static func read(
        _ json: JSONReader,
        now: Date,
        mostFaults room: inout Int
    ) -> Result<FullState.Item, Problem> {
        var json = json
        let id = json.string("activityId", ActivityID.init)
        let registration = ActivityRegistration(from: &json, requiresToken: false, now: now)
        var problem = json.faults.isEmpty ? nil : Problem(faults: json.faults)
        problem?.errors = Array(json.faults.prefix(max(room, 1)))
        room -= json.faults.count
        guard let id else { return .failure(problem ?? Problem(faults: [])) }
        var item =
            problem.map { FullState.Item(activityID: id, problem: $0) }
            ?? FullState.Item(activityID: id, registration: registration)
        item.pointer = json.pointer.text
        return .success(item)
    }
}
