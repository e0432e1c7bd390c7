import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// Items that a request repeats, or that were registered before under its alias, cost no more than what is kept of them.
@Suite(.timeLimit(.minutes(30))) struct RepetitionCostTests {
    @Test("Repeated items cost no more than different ones", arguments: ["activity", "token"])
    func repeatedItemsCostNoMoreThanDifferentOnes(what: String) async throws {
        let meter = try await CostMeter.make()
        func cost(_ count: Int, _ name: String, _ item: (Int) -> FullState.Item) async throws -> Cost {
            let items = (0..<count).map(item)
            let state = FullState(observedAt: .minutesAgo(1), items: items)
            let registry = meter.database.registry
            let cost = try await meter.measure {
                let answer = try await registry.apply(state, of: CostMeter.phone, in: meter.scope, by: "test")
                #expect(answer.results.count == count)
            }
            print("figure: cost of a full state of \(count) \(name): \(cost)")
            return cost
        }
        for count in [10, 100, 1000] {
            let different = try await cost(count, "different items") { Self.item("a-\($0)", token: $0) }
            let repeated = try await cost(count, "items of one \(what)") {
                what == "token" ? Self.item("t-\($0)", token: 0) : Self.item("one", token: $0)
            }
            #expect(repeated.pages <= different.pages * 2 + 100)
            #expect(repeated.postgres <= different.postgres * 1.5 + .milliseconds(5))
        }
    }

    private static func item(_ id: String, token: Int) -> FullState.Item {
        FullState.Item(activityID: .sample(id), registration: .sample(token: .sample(token)))
    }

    @Test("Repeated reports cost no more than eight rounds") func repeatedReportsCostNoMoreThanEightRounds()
        async throws
    {
        let meter = try await CostMeter.make()
        let activity = TestActivity(database: meter.database, scope: meter.scope, id: .sample("activity"))
        try await activity.register(1, at: .minutesAgo(1))
        var costs: [Cost] = []
        for count in [10, 100, 1000, 10_000] {
            let reports = (0..<count).map {
                FeedbackReport(token: .sample(1), status: 410, timestamp: .minutesAgo(Double(60 + $0)))
            }
            let cost = try await meter.measure {
                _ = try await meter.database.registry.apply(reports, in: meter.scope, by: "sender")
            }
            print("figure: cost of \(count) reports of one token: \(cost)")
            costs.append(cost)
        }
        #expect(costs[3].pages <= costs[0].pages * 3 + 100)
        #expect(costs[3].postgres <= costs[0].postgres * 3 + .milliseconds(5))
    }

    /// Registrations under a (liveactivityId, owner) cost later requests no more than what is kept of them.
    @Test("Registrations of an identity are bounded", arguments: [true, false])
    func registrationsOfAnIdentityAreBounded(timed: Bool) async throws {
        let meter = try await CostMeter.make()
        let identity = TestIdentity(database: meter.database, scope: meter.scope, alias: "match-7")
        let start = Date.minutesAgo(300)
        func time(_ number: Int) -> Date? { timed ? start.addingTimeInterval(Double(number)) : nil }
        var (number, costs) = (0, [Cost]())
        for size in [10, 100, 1000] + (TestScale.isLong ? [10_000] : []) {
            while number < size {
                number += 1
                _ = try? await identity.post(number, at: time(number))
                if number % 20 == 0 { try await identity.end(at: time(number)) }
            }
            try await meter.analyze()
            let cost = try await meter.measure {
                number += 1
                _ = try? await identity.post(number, at: time(number))
                try await identity.end(at: time(number))
            }
            print("figure: cost of a registration and an end under an alias after \(size): \(cost)")
            costs.append(cost)
        }
        let rows = try await meter.database.count("SELECT count(*) FROM alias_registrations")
        #expect(rows <= AliasTimeline.mostRegistrations + AliasIdentityStatements.mostDigests)
        // Rows that were updated lately may or may not have been pruned, which is worth some 400 pages.
        #expect(costs[2].pages <= costs[1].pages * 3 + 500)
        #expect(costs[2].postgres <= costs[1].postgres * 3 + .milliseconds(5))
        #expect(costs[costs.count - 1].pages <= costs[2].pages * 3 + 500)
    }
}
