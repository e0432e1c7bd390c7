import Foundation

/// The readable items of a body, and the positions of their results in the response.
package struct FullStateBody: Sendable, Hashable {
    package let readable: FullState
    private let positions: [Position]

    package static let maximumItems = 1000

    /// The limit of faults in a response, except for the first one of each item.
    private static let maximumFaults = 1000

    private enum Position: Sendable, Hashable {
        case item
        case unreadable(Problem)
    }

    /// Reads `{observedAt, activities: […]}`. A malformed item gets a problem in its position. If its id is readable,
    /// its activity counts as present.
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

    /// Merges the store's results with the problems of unreadable items.
    ///
    /// A missing result becomes a problem in its position, so that the other items keep theirs.
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
    /// The failure case is an item without a readable id.
    ///
    /// - Parameter room: The remaining number of faults. One is always reported.
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
