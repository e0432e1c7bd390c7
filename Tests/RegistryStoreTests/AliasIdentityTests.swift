import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// `POST …/activities`: activities known only by their liveactivityId and owner.
@Suite struct AliasIdentityTests {
    @Test func `After an end, a new token begins a new activity`() async throws {
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

    @Test func `Every order of ends leaves no activity`() async throws {
        let t0 = Date.minutesAgo(60)
        let steps: [TestIdentity.Step] = [.post(1, t0 + 60), .end(t0 + 120), .post(2, t0 + 180), .end(t0 + 240)]
        for order in permutations(of: steps) {
            let identity = try await TestIdentity.make(sharing: "orders")
            for step in order { await identity.play(step) }
            #expect(try await identity.tokens() == [])
        }
    }

    @Test func `An activity ended by its id begins again under its name`() async throws {
        let identity = try await TestIdentity.make()
        let first = try await identity.post(1, at: .minutesAgo(59))
        try await identity.activity(first.activity.activityID.rawValue.string).end()
        #expect(try await identity.tokens() == [])
        let late = await identity.problem { try await identity.post(1, at: .minutesAgo(58)) }
        #expect(late?.code == .activityEnded)
        #expect(try await identity.post(2).outcome == .registered)
    }

    @Test func `Aliases given with a name are kept`() async throws {
        let identity = try await TestIdentity.make()
        _ = try await identity.post(1, aliases: [.sample("userId", "7")])
        _ = try await identity.post(1)
        #expect(try await identity.found(under: .sample("userId", "7")).count == 1)
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
