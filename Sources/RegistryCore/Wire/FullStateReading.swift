import Foundation

/// A full state as a body gave it: the part for the store, and the positions of its results in the answer.
package struct FullStateBody: Sendable, Hashable {
    /// The items whose activity could be read.
    package let readable: FullState
    private let positions: [Position]

    /// The most items that one body may list.
    package static let maximumItems = 1000

    /// The most faults in the answer for all items together, except the first one of each.
    private static let maximumFaults = 1000

    private enum Position: Sendable, Hashable {
        case item
        case unreadable(Problem)
    }

    /// Reads `{observedAt, activities: […]}`; nil and faults in the reader if the envelope is wrong.
    ///
    /// A malformed item gets a problem in its position; if its id can be read, its activity counts as present.
    package static func read(_ json: inout JSONReader) -> FullStateBody? {
        let observedAt = json.timestamp("observedAt")
        let elements = json.elements("activities", maximumCount: maximumItems)
        guard let observedAt, let elements else { return nil }
        var (items, positions): ([FullState.Item], [Position]) = ([], [])
        var room = maximumFaults
        for element in elements {
            switch FullState.Item.read(element, mostFaults: &room) {
            case .success(let item):
                items.append(item)
                positions.append(.item)
            case .failure(let problem): positions.append(.unreadable(problem))
            }
        }
        return FullStateBody(readable: FullState(observedAt: observedAt, items: items), positions: positions)
    }

    /// Puts the store's results, one for each readable item, back among the items that could not be read.
    ///
    /// An item whose result is missing gets a problem in its position, so that the others keep theirs.
    package func results(_ merged: FullStateResults) -> [FullStateResult] {
        var items = readable.items[...]
        var results = merged.results[...]
        return positions.map { position in
            switch position {
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

package struct FullStateResult: Sendable, Hashable {
    package let activityID: ActivityID?
    package let result: Result<RegistrationOutcome, Problem>
}

extension FullState.Item {
    /// Reads an item; the failure is an item whose id cannot be read.
    ///
    /// - Parameter room: how many more faults may be told; one is always told.
    fileprivate static func read(
        _ json: JSONReader,
        mostFaults room: inout Int
    ) -> Result<FullState.Item, Problem> {
        var json = json
        let id = json.string("activityId", ActivityID.init)
        let registration = ActivityRegistration(from: &json, requiresToken: false)
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
