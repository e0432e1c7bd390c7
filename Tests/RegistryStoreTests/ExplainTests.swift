import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// The explanation of an alias. `TokenAvailabilityTests` covers the reasons for withholding a token.
@Suite(.timeLimit(.minutes(15))) struct ExplainTests {
    private static let alias = Alias.sample("orderId", "42")
    private static let phone = InstallationHash.sample(1)

    private static func expire(_ activity: TestActivity) async throws {
        try await activity.register(1, at: .minutesAgo(20), installation: phone, aliases: [alias])
        try await activity.age(by: "9 hours")
    }

    @Test func `An end records that the user dismissed the activity`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(20), aliases: [Self.alias])
        try await activity.end(reason: .dismissed)
        let explanation = try await activity.explain(Self.alias)
        #expect(explanation.activities.first?.facts.sentence.contains("user dismissed") == true)
    }

    @Test func `A swept activity is shown as expired`() async throws {
        let activity = try await TestActivity.make()
        try await Self.expire(activity)
        #expect(try await activity.sweep(.expiry) == 1)
        let explanation = try await activity.explain(Self.alias)
        #expect(explanation.activities.map(\.facts.availability) == [.expired])
        #expect(explanation.activities.map(\.isClosed) == [true])
    }

    /// The reason is the log-out, and the state is the same as in all other responses.
    @Test func `An activity that expired before a log-out is expired`() async throws {
        let activity = try await TestActivity.make()
        try await Self.expire(activity)
        let phone = TestInstallation(database: activity.database, scope: activity.scope, hash: Self.phone)
        try await phone.logOut(at: .minutesAgo(1))
        let explanation = try await activity.explain(Self.alias)
        #expect(explanation.activities.map(\.facts.availability) == [.loggedOut])
        #expect(explanation.activities.map(\.state) == [.expired])
        #expect(try await activity.record()?.status.state == .expired)
        let counts = try await activity.registry.counts(in: activity.scope)
        #expect(counts[.activities(.expired)] == 1)
        #expect(counts[.activities(.ended)] == 0)
    }

    // MARK: Notes and pages

    @Test func `Notes contain the known facts about the alias`() async throws {
        let activity = try await TestActivity.make()
        let registry = activity.registry
        func notes(_ environment: APNSEnvironment = .sandbox) async throws -> [AliasExplanation.Note] {
            let scope = Scope(app: activity.scope.app, environment: environment)
            return try await registry.explain(Self.alias, limit: 10, in: scope).notes
        }
        #expect(try await notes() == [.unknown])
        try await activity.register(1, at: .minutesAgo(20), aliases: [Self.alias])
        #expect(try await notes() == [])
        #expect(try await notes(.production) == [.knownElsewhere(.sandbox)])
        try await activity.erase(.alias(Self.alias))
        #expect(try await notes().map(\.code) == ["erased", "unknown"])
    }

    @Test func `An alias in another letter case is mentioned, and not resolved`() async throws {
        let activity = try await TestActivity.make()
        let (upper, lower) = ("7C42AB00-0000-4000-8000-0000000000FF", "7c42ab00-0000-4000-8000-0000000000ff")
        let pairs = [
            (upper, lower), (lower.replacing("ff", with: "ee"), upper.replacing("FF", with: "EE")),
            ("Order-42", "order-42"), ("ORDER-43", "order-43"), ("OrderNo-44", "orderNo-44"),
            ("Table Five", "table five"),
        ]
        for (number, (registered, asked)) in pairs.enumerated() {
            let minutes = Double(pairs.count - number)
            try await activity.register(1, at: .minutesAgo(minutes), aliases: [.sample("orderId", registered)])
            let explanation = try await activity.explain(.sample("orderId", asked))
            #expect(explanation.notes == [.otherCase(UTF8Text(registered))])
            #expect(explanation.notes.first?.sentence.contains(registered) == true)
            #expect(explanation.activities.isEmpty)
            #expect(try await activity.explain(.sample("orderId", registered)).notes.isEmpty)
            #expect(try await activity.found(under: .sample("orderId", asked)).isEmpty)
        }
    }

    @Test func `Pages contain each activity once`() async throws {
        let root = try await TestActivity.make()
        for number in 0..<25 {
            let activity = root.another("a-\(number)")
            try await activity.register(number, at: .minutesAgo(5), aliases: [Self.alias])
            if number.isMultiple(of: 3) { try await activity.end() }
        }
        var (ids, position): ([UTF8Text], ListPosition?) = ([], .start)
        while let start = position {
            let page = try await root.explain(Self.alias, after: start, limit: 4)
            ids += page.activities.map(\.activityID.rawValue)
            position = page.activities.last?.position
        }
        #expect(ids.count == 25)
        #expect(Set(ids).count == 25)
        #expect(ids.suffix(9).allSatisfy { Int($0.string.dropFirst(2))!.isMultiple(of: 3) })
    }
}
