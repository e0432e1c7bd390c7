import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// `POST …/activities`: activities known only by their liveactivityId and owner.
@Suite struct AliasIdentityTests {
    private let t0 = Date.minutesAgo(60)

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    @Test func `A new token rotates the running activity`() async throws {
        let identity = try await TestIdentity.make()
        let first = try await identity.post(1)
        let second = try await identity.post(2)
        #expect(second.outcome == .rotated)
        #expect(first.activity.activityID == second.activity.activityID)
        #expect(try await identity.tokens() == [.sample(2)])
        let problem = await identity.problem { try await identity.post(1) }
        #expect(problem?.code == .superseded)
        #expect(try await identity.post(2).outcome == .refreshed)
    }

    @Test func `After an end a new token begins a new activity`() async throws {
        let identity = try await TestIdentity.make()
        let first = try await identity.post(1)
        try await identity.end()
        #expect(try await identity.tokens() == [])
        let retry = await identity.problem { try await identity.post(1) }
        #expect(retry?.code == .activityEnded)
        let second = try await identity.post(2)
        #expect(second.outcome == .registered)
        #expect(first.activity.activityID != second.activity.activityID)
        #expect(try await identity.tokens() == [.sample(2)])
    }

    @Test func `A thousand owners may follow one alias`() async throws {
        let identity = try await TestIdentity.make()
        for number in 1...20 { _ = try await identity.post(number, owner: .installation(.sample(number))) }
        #expect(try await identity.tokens().count == 20)
        try await identity.end(owner: .installation(.sample(3)))
        #expect(try await identity.tokens().count == 19)
    }

    @Test func `An end of an unknown name refuses earlier observations`() async throws {
        let identity = try await TestIdentity.make()
        try await identity.end(at: after(5))
        let late = await identity.problem { try await identity.post(1, at: after(4)) }
        #expect(late?.code == .activityEnded)
        let equal = await identity.problem { try await identity.post(1, at: after(5)) }
        #expect(equal?.code == .activityEnded)
        #expect(try await identity.post(2, at: after(6)).outcome == .registered)
    }

    @Test func `All orders of ends lead to no activity`() async throws {
        let steps: [TestIdentity.Step] = [.post(1, after(1)), .end(after(2)), .post(2, after(3)), .end(after(4))]
        for order in permutations(of: steps) {
            let identity = try await TestIdentity.make(sharing: "orders")
            for step in order { await identity.play(step) }
            #expect(try await identity.tokens() == [])
        }
    }

    @Test func `An expiry separates activities like an end`() async throws {
        let start = Date.minutesAgo(9 * 60)
        let steps: [TestIdentity.Step] = [
            .post(1, start), .post(2, start.addingTimeInterval(7 * 3600)),
            .post(3, start.addingTimeInterval(8.5 * 3600)),
        ]
        for order in permutations(of: steps) {
            let identity = try await TestIdentity.make(sharing: "orders")
            for step in order { await identity.play(step) }
            #expect(try await identity.tokens() == [.sample(3)])
        }
    }

    @Test func `An activity ended by its id begins again under its name`() async throws {
        let identity = try await TestIdentity.make()
        let first = try await identity.post(1, at: after(1))
        try await identity.database.registry.end(
            first.activity.activityID,
            reason: .ended,
            observedAt: nil,
            in: identity.scope,
            by: "test"
        )
        #expect(try await identity.tokens() == [])
        let late = await identity.problem { try await identity.post(1, at: after(2)) }
        #expect(late?.code == .activityEnded)
        #expect(try await identity.post(2).outcome == .registered)
    }

    @Test func `Given aliases are kept next to the name`() async throws {
        let identity = try await TestIdentity.make()
        _ = try await identity.post(1, aliases: [.sample("userId", "7")])
        _ = try await identity.post(1)
        let found = try await identity.database.registry.activities(
            under: .sample("userId", "7"),
            limit: 9,
            in: identity.scope
        )
        #expect(found.count == 1)
        #expect(try await identity.tokens().count == 1)
    }
}

func permutations<Element>(of elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(of: rest).map { [first] + $0 }
    }
}
