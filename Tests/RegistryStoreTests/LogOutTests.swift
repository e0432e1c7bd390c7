import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

@Suite struct LogOutTests {
    private let t0 = Date.minutesAgo(60)
    private let alias = Alias.sample("userId", "u-7")
    private let topic = Alias.sample("topic", "match-7")

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    // MARK: Aliases

    @Test func `Aliases are replaced as a whole by the later time`() async throws {
        let phone = try await TestInstallation.make()
        try await phone.register(1, at: t0)
        try await phone.register(2, in: TestInstallation.device, at: t0)
        #expect(try await phone.found(alias) == [])
        let first = try await phone.put([alias, topic], metadata: ["build": 7], at: after(1))
        #expect(first.observedAt == after(1) && first.aliasesObservedAt == after(1) && !first.isNew)
        #expect(try await phone.found(alias) == [.sample(1)])
        #expect(try await phone.found(topic, .device) == [.sample(2)])
        // Omitted aliases are not cleared. Older aliases replace nothing, and the response contains the current ones'
        // time.
        #expect(try await phone.put(nil, at: after(2)).aliasesObservedAt == after(1))
        let late = try await phone.put([], at: after(0.5))
        #expect(late.observedAt == after(0.5))
        #expect(late.aliasesObservedAt == after(1))
        #expect(try await phone.found(alias) == [.sample(1)])
        try await phone.put([topic], at: after(3))
        #expect(try await phone.found(alias) == [])
        #expect(try await phone.found(topic) == [.sample(1)])
        try await phone.put([], metadata: [:], at: after(4))
        #expect(try await phone.found(topic) == [])
        #expect(try await phone.record()?.metadata.map { String(decoding: $0, as: UTF8.self) } == "{}")
        // The second request was late or a repetition, and changed nothing.
        let changes = try await phone.events().filter { $0 == "installation-changed" }
        #expect(changes.count == 3)
    }

    @Test func `Aliases without a time count as observed at the receipt`() async throws {
        let phone = try await TestInstallation.make()
        let first = try await phone.put([alias], at: nil)
        #expect(first.isNew)
        #expect(first.observedAt > after(59))
        try await phone.put([topic], at: nil)
        try await phone.register(1, at: t0)
        #expect(try await phone.found(alias) == [])
        #expect(try await phone.found(topic) == [.sample(1)])
        let problem = await phone.problem { try await phone.put([alias], at: .minutesAgo(-6)) }
        #expect(problem?.code == .clockSkew)
        #expect(try await phone.found(topic) == [.sample(1)])
    }

    @Test func `An alias lists all start tokens page by page`() async throws {
        let phone = try await TestInstallation.make(0)
        var expected: Set<PushToken> = []
        for number in 1...7 {
            let other = phone.another(number)
            try await other.put([topic], at: t0)
            for (index, type) in TestInstallation.types.enumerated() {
                try await other.register(number * 10 + index, in: .start(type), at: t0)
                expected.insert(.sample(number * 10 + index))
            }
        }
        var (seen, sizes): ([PushToken], [Int]) = ([], [])
        var position = TokenPosition.start
        let registry = phone.registry
        while true {
            let page = try await registry.tokens(under: topic, .start, after: position, limit: 5, in: phone.scope)
            guard let last = page.last else { break }
            seen += page.map(\.token)
            sizes.append(page.count)
            position = last.position
            // Rotations between pages do not move rows.
            expected.remove(.sample(10))
            try await phone.another(1).register(100 + sizes.count, at: nil)
        }
        #expect(sizes == [5, 5, 4])
        #expect(Set(seen).subtracting([.sample(10)]) == expected)
        #expect(seen.count == 14)
        let (type, scope) = (TestInstallation.types[1], phone.scope)
        let matches = try await registry.tokens(under: topic, .start, attributesType: type, limit: 100, in: scope)
        #expect(matches.count == 7)
        #expect(Set(matches.map(\.attributesType)) == ["Match"])
    }

    // MARK: Log-out

    @Test func `A log-out removes everything observed before it`() async throws {
        let phone = try await TestInstallation.make()
        try await phone.put([alias], metadata: ["build": 7], at: t0)
        try await phone.register(1, at: t0)
        try await phone.register(2, in: TestInstallation.device, at: t0)
        let activity = phone.activity("a-1")
        try await activity.register(3, at: t0, installation: phone.hash)
        try await phone.logOut(at: after(1))
        #expect(try await phone.token() == nil)
        #expect(try await phone.token(in: TestInstallation.device) == nil)
        #expect(try await phone.found(alias) == [])
        #expect(try await phone.found(alias, .device) == [])
        let record = try #require(try await phone.record())
        #expect(record.aliases == nil)
        #expect(record.metadata == nil)
        #expect(record.tokens.isEmpty)
        #expect(record.loggedOutAt == after(1))
        #expect(record.fullStateAt == after(1))
        #expect(try await activity.record()?.status.state == .ended)
        #expect(await activity.problem { try await activity.register(3, at: after(2)) }?.code == .activityEnded)
        let kept = try await phone.column(
            """
            SELECT token::text FROM installation_tokens WHERE token IS NOT NULL
            UNION SELECT token::text FROM activities WHERE token IS NOT NULL
            """
        )
        #expect(kept == [])
        let events = try await phone.events()
        #expect(events.filter { $0 == "deleted" }.count == 2 && events.filter { $0 == "logged-out" }.count == 1)
        #expect(try await activity.events() == ["registered", "ended"])
    }

    @Test func `Claims from before a log-out are refused, and later ones are accepted`() async throws {
        let phone = try await TestInstallation.make()
        try await phone.logOut(at: after(1))
        let activity = phone.activity("late")
        for (token, slot) in InstallationTokenTests.slots.enumerated() {
            let late = await phone.problem { try await phone.register(token + 1, in: slot, at: after(1)) }
            #expect(late?.code == .superseded)
            #expect(late?.token?.reason == "logged-out")
        }
        #expect(await phone.problem { try await phone.put([alias], at: t0) }?.code == .superseded)
        let ended = await activity.problem { try await activity.register(3, at: t0, installation: phone.hash) }
        #expect(ended?.code == .activityEnded)
        #expect(try await phone.token() == nil)
        #expect(try await phone.found(alias) == [])
        #expect(try await activity.currentToken() == nil)
        // A later observation of an activity from before the log-out does not bring it back, in either order.
        #expect(await activity.problem { try await activity.register(3, at: after(2)) }?.code == .activityEnded)
        #expect(try await activity.record()?.status.state == .ended)
        try await phone.put([alias], at: after(2))
        #expect(try await phone.register(1, at: after(2)).outcome == .reactivated)
        #expect(try await phone.found(alias) == [.sample(1)])
        try await activity.another("new").register(4, at: after(2), installation: phone.hash)
        #expect(try await activity.another("new").currentToken() == .sample(4))
    }

    @Test(arguments: [true, false])
    func `Named activities begin again after a log-out`(isKnownBefore: Bool) async throws {
        let phone = try await TestInstallation.make()
        let identity = phone.identity("order-42")
        let owner = ActivityOwner.installation(phone.hash)
        if isKnownBefore { try await identity.post(1, at: t0, owner: owner) }
        try await phone.logOut(at: after(1))
        let late = await identity.problem { try await identity.post(1, at: t0, owner: owner) }
        #expect(late?.code == .activityEnded)
        #expect(late?.activity?.endedAt == after(1))
        #expect(try await identity.tokens() == [])
        #expect(try await identity.post(2, at: after(2), owner: owner).outcome == .registered)
        #expect(try await identity.post(3, owner: owner).outcome == .rotated)
        #expect(try await identity.tokens() == [.sample(3)])
    }

    @Test func `A log-out without a time makes room for the next user despite a fast clock`() async throws {
        let phone = try await TestInstallation.make()
        let user = phone.asUser("u-1")
        try await phone.tellFullState(of: phone.hash, at: .minutesAgo(-4), claimant: user.claimant)
        try await user.logOut(at: nil)
        try await phone.asUser("u-2").register(1, in: TestInstallation.device, at: .minutesAgo(-4.5))
        #expect(try await phone.token(in: TestInstallation.device) == .sample(1))
    }
}
