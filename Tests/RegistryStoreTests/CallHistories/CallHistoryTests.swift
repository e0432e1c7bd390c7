import TestSupport
import Testing

/// All calls of clients, senders and admins, one after another on two instances, against a model without Postgres.
@Suite(.timeLimit(.minutes(150))) struct CallHistoryTests {
    @Test func `Random histories of all calls agree with the model and reach every cell`() async throws {
        let count = TestScale.isLong ? 10_000 : 60
        let service = try await CallService()
        let first = SeededGenerator.firstSeed()
        let start = ContinuousClock.now
        var cells: Set<Cell> = []
        try await withThrowingTaskGroup(of: Set<Cell>.self) { group in
            for index in 0..<count {
                if index >= 8 { cells.formUnion(try await group.next() ?? []) }
                group.addTask { try await Self.check(CallHistory(seed: first &+ UInt64(index)), service) }
            }
            for try await found in group { cells.formUnion(found) }
        }
        let (found, all) = (cells.intersection(Cell.reachable).count, Cell.reachable.count)
        let seconds = Double((ContinuousClock.now - start).components.seconds)
        print("figure: \(count) histories of all calls from seed \(first): \(found) of \(all) cells, \(seconds) s")
        for cell in cells.subtracting(Cell.reachable).subtracting(Cell.rare) {
            Issue.record("reached, but said to be impossible: \(cell)")
        }
        if TestScale.isLong {
            for cell in Cell.reachable.subtracting(cells) { Issue.record("no history reached \(cell)") }
        } else {
            #expect(found > all / 3)
        }
    }

    @Test(arguments: CallHistory.corpus) func `A kept history agrees with the model`(_ calls: [Call]) async throws {
        _ = try await Self.check(CallHistory(calls), CallService())
    }

    /// Records a difference with the shortest history that still shows it.
    private static func check(_ history: CallHistory, _ service: CallService) async throws -> Set<Cell> {
        var cells: Set<Cell> = []
        guard var difference = try await history.play(on: service, { cells.insert($0) }) else { return cells }
        var (shortest, index) = (history, history.calls.count - 1)
        while index >= 0 {
            var shorter = shortest
            shorter.calls.remove(at: index)
            if let found = try await shorter.play(on: service) { (shortest, difference) = (shorter, found) }
            index -= 1
        }
        Issue.record("\(difference). Correct the fault, and add the history to the corpus:\n\(shortest.calls)")
        return cells
    }
}

extension CallHistory {
    /// - Returns: the first difference between the service and the model.
    fileprivate func play(on service: CallService, _ reach: (Cell) -> Void = { _ in }) async throws -> String? {
        var (player, model) = (try await CallPlayer(service), CallModel(ranks: service.ranks))
        for (index, call) in calls.enumerated() {
            player.instance = index
            let targets = model.targets(of: call)
            if call.rule == .plan, let difference = try await player.plan(call, model) { return difference }
            let expected = model.play(call)
            let actual = try await player.play(call)
            for (target, answer) in zip(targets, expected.answers) { reach(Cell(target.0, answer, target.1)) }
            if actual != expected { return "\(call): \(actual) is not \(expected)" }
            guard index % 4 == 3 || index == calls.count - 1 else { continue }
            if let difference = try await player.view().difference(from: model.view) { return "\(call): \(difference)" }
        }
        return nil
    }
}
