import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// For each way in which a token is not handed out, the audit says so.
@Suite(.timeLimit(.minutes(15))) struct ExplainTests {
    private static let alias = Alias.sample("orderId", "42")
    private static let phone = InstallationHash.sample(1)
    private static let ofActivities = TokenVerdict.allCases.filter { $0 != .deleted }

    /// Brings an activity into the state of which the verdict is.
    private static func provoke(_ verdict: TokenVerdict, _ activity: TestActivity) async throws {
        let registry = activity.database.registry
        func register(_ token: Int = 1, startedAt: Date? = nil) async throws {
            try await activity.register(
                token,
                at: .minutesAgo(20),
                startedAt: startedAt,
                installation: phone,
                aliases: [alias]
            )
        }
        let installation = TestInstallation(database: activity.database, scope: activity.scope, hash: phone)
        switch verdict {
        case .handedOut: try await register()
        case .ended:
            try await register()
            try await activity.end(reason: .dismissed)
        case .loggedOut:
            // It becomes known after the log-out, so nobody wrote down that it ended.
            try await installation.logOut(at: .minutesAgo(10))
            _ = await activity.problem { try await register() }
        case .expired: _ = await activity.problem { try await register(startedAt: .minutesAgo(9 * 60)) }
        case .dismissed:
            try await register()
            let state = FullState(observedAt: .minutesAgo(5), items: [])
            _ = try await registry.apply(state, of: phone, in: activity.scope, by: "test")
        case .noToken:
            let item = ActivityRegistration.sample(token: nil, aliases: [alias])
            let state = FullState(
                observedAt: .minutesAgo(5),
                items: [.init(activityID: activity.id, registration: item)]
            )
            _ = try await registry.apply(state, of: phone, in: activity.scope, by: "test")
        case .takenOver:
            try await register()
            try await activity.another("thief").register(1, at: .minutesAgo(5))
        case .kindConflict:
            try await register()
            try await installation.another(2).register(1, in: TestInstallation.device, at: .minutesAgo(5))
        case .unregistered:
            try await register()
            try await report(410, "Unregistered", activity)
        case .quarantined:
            try await register()
            try await report(400, "BadDeviceToken", activity)
        case .purged:
            try await register()
            try await activity.database.run("UPDATE activities SET confirmed_at = now() - interval '3 hours'")
            #expect(try await registry.purgeStaleTokens(in: activity.scope, by: "admin") == 1)
        case .deleted: Issue.record("activities are not deleted")
        }
    }

    private static func report(_ status: Int, _ reason: String, _ activity: TestActivity) async throws {
        let report = FeedbackReport(token: .sample(1), status: status, reason: reason)
        _ = try await activity.database.registry.apply([report], in: activity.scope, by: "sender")
    }

    @Test("Every verdict of activities", arguments: ofActivities)
    func everyVerdictOfActivities(verdict: TokenVerdict) async throws {
        let activity = try await TestActivity.make()
        try await Self.provoke(verdict, activity)
        let registry = activity.database.registry
        let explanation = try await registry.explain(Self.alias, limit: 10, in: activity.scope)
        #expect(explanation.activities.map(\.facts.verdict) == [verdict])
        let found = try #require(explanation.activities.first)
        #expect(found.facts.sentence.hasSuffix(".") && (found.facts.since != nil) == (verdict != .noToken))
        #expect(try await activity.record()?.answer.state == found.state)
        #expect(explanation.notes == [])
        // It says what senders get.
        let tokens = try await activity.tokens(Self.alias)
        #expect(tokens.isEmpty == (verdict != .handedOut))
        switch verdict {
        case .ended: #expect(found.facts.sentence.contains("user dismissed"))
        case .quarantined: #expect(found.facts.sentence.contains("BadDeviceToken"))
        case .purged: #expect(try await activity.record()?.answer.reason == "purged")
        default: break
        }
    }

    /// Swept or not, the reason is the same.
    @Test("Expired activities are said to be when swept") func expiredActivitiesAreSaidToBeWhenSwept() async throws {
        let activity = try await TestActivity.make()
        try await Self.provoke(.expired, activity)
        _ = try await activity.database.registry.sweep(.expiry, limit: 100, in: activity.scope)
        let explanation = try await activity.database.registry.explain(Self.alias, limit: 10, in: activity.scope)
        #expect(explanation.activities.map(\.facts.verdict) == [.expired])
        #expect(explanation.activities.map(\.isClosed) == [true])
    }

    /// The log-out is the reason, and the state is the one that every other answer tells.
    @Test("An activity that expired before a log-out is expired") func whatExpiredBeforeALogOutIsExpired() async throws
    {
        let activity = try await TestActivity.make()
        try await Self.provoke(.expired, activity)
        let phone = TestInstallation(database: activity.database, scope: activity.scope, hash: Self.phone)
        try await phone.logOut(at: .minutesAgo(1))
        let explanation = try await activity.database.registry.explain(Self.alias, limit: 10, in: activity.scope)
        #expect(explanation.activities.map(\.facts.verdict) == [.loggedOut])
        #expect(explanation.activities.map(\.state) == [.expired])
        #expect(try await activity.record()?.answer.state == .expired)
        #expect(
            try await activity.database.registry.census().activities.filter { $0.value > 0 }.map(\.key.state) == [
                .expired
            ]
        )
    }

    // MARK: Start and device tokens

    /// Whether there is such a way for a token of that kind: what runs and ends are activities, start tokens have no
    /// owner, and a device token is of no other kind than itself.
    private static func exists(_ verdict: TokenVerdict, for slot: TokenSlot) -> Bool {
        switch verdict {
        case .handedOut, .loggedOut, .deleted, .purged, .unregistered, .quarantined: true
        case .takenOver: slot.kind == .device
        case .kindConflict: slot.kind == .start
        case .ended, .expired, .dismissed, .noToken: false
        }
    }

    private static func provoke(_ verdict: TokenVerdict, _ phone: TestInstallation, _ slot: TokenSlot) async throws {
        let registry = phone.database.registry
        try await phone.register(1, in: slot, at: .minutesAgo(20))
        func report(_ status: Int, _ reason: String) async throws {
            let report = FeedbackReport(token: .sample(1), status: status, reason: reason)
            _ = try await registry.apply([report], in: phone.scope, by: "sender")
        }
        switch verdict {
        case .loggedOut: try await phone.logOut(at: .minutesAgo(10))
        case .deleted: try await phone.delete(slot, at: .minutesAgo(10))
        case .purged:
            try await phone.database.run(
                "UPDATE installation_tokens SET confirmed_at = now() - interval '9 days'"
            )
            #expect(try await registry.purgeStaleTokens(in: phone.scope, by: "admin") == 1)
        case .kindConflict: try await phone.another(2).register(1, in: TestInstallation.device, at: .minutesAgo(5))
        case .takenOver: try await phone.another(2).register(1, in: slot, at: .minutesAgo(5))
        case .unregistered: try await report(410, "Unregistered")
        case .quarantined: try await report(400, "BadDeviceToken")
        case .handedOut, .ended, .expired, .dismissed, .noToken: break
        }
        try await phone.put([alias], at: .minutesAgo(1))
    }

    @Test(
        "Every verdict of tokens",
        arguments: TokenVerdict.allCases,
        [TestInstallation.delivery, TestInstallation.device]
    )
    func everyVerdictOfTokens(verdict: TokenVerdict, slot: TokenSlot) async throws {
        guard Self.exists(verdict, for: slot) else { return }
        let phone = try await TestInstallation.make()
        try await Self.provoke(verdict, phone, slot)
        let explanation = try await phone.database.registry.explain(Self.alias, limit: 10, in: phone.scope)
        #expect(explanation.tokens.map(\.facts.verdict) == [verdict])
        #expect(explanation.tokens.map(\.kind) == [slot.kind.name])
        #expect(try await phone.found(Self.alias, slot.kind).isEmpty == (verdict != .handedOut))
    }

    // MARK: Notes and pages

    @Test("Notes say what is known of the alias") func notesSayWhatIsKnownOfTheAlias() async throws {
        let activity = try await TestActivity.make()
        let registry = activity.database.registry
        func notes(_ environment: APNSEnvironment = .sandbox) async throws -> [AliasExplanation.Note] {
            let scope = Scope(app: activity.scope.app, environment: environment)
            return try await registry.explain(Self.alias, limit: 10, in: scope).notes
        }
        #expect(try await notes() == [.unknown])
        try await Self.provoke(.handedOut, activity)
        #expect(try await notes() == [])
        #expect(try await notes(.production) == [.knownElsewhere(.sandbox)])
        _ = try await registry.erase(.alias(Self.alias), in: activity.scope, by: "admin")
        let codes = try await notes().map(\.code)
        #expect(codes == ["erased", "unknown"])
    }

    @Test("Pages have each activity once") func pagesHaveEachActivityOnce() async throws {
        let root = try await TestActivity.make()
        for number in 0..<25 {
            let activity = root.another("a-\(number)")
            try await activity.register(number, at: .minutesAgo(5), aliases: [Self.alias])
            if number.isMultiple(of: 3) { try await activity.end() }
        }
        var (ids, position): ([UTF8Text], ExplainPosition?) = ([], .start)
        while let start = position {
            let page = try await root.database.registry.explain(Self.alias, after: start, limit: 4, in: root.scope)
            ids += page.activities.map(\.activityID.rawValue)
            position = page.activities.last.map { ExplainPosition(isClosed: $0.isClosed, number: $0.number) }
        }
        #expect(ids.count == 25 && Set(ids).count == 25)
        #expect(ids.suffix(9).allSatisfy { Int($0.string.dropFirst(2))!.isMultiple(of: 3) })
    }
}
