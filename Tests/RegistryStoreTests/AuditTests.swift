import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct AuditEventTests {
    private static let alias = Alias.sample("orderId", "42")
    private static let phone = InstallationHash.sample(1)

    private static func make() async throws -> TestActivity {
        let root = try await TestActivity.make("a-1")
        for (number, activity) in [root, root.another("a-2")].enumerated() {
            let (aliases, user) = (number == 0 ? [alias] : nil, Claimant.subject("u-\(number)", phone))
            try await activity.register(number, at: .minutesAgo(10), aliases: aliases, claimant: user)
        }
        try await root.another("a-3").register(9, at: .minutesAgo(10))
        try await root.register(10, at: .minutesAgo(5))
        _ = try await root.report(10, 410)
        try await root.end()
        return root
    }

    private static func find(_ root: TestActivity, _ change: (inout EventFilter) -> Void = { _ in }) async throws
        -> [AuditEvent]
    {
        var filter = EventFilter()
        change(&filter)
        return try await root.registry.events(filter, limit: 100, in: root.scope).items
    }

    @Test func `Every filter finds its events`() async throws {
        let root = try await Self.make()
        var all = try await Self.find(root)
        #expect(all.popLast()?.type == "app-created")
        #expect(all.map(\.type) == ["ended", "dropped", "rotated", "registered", "registered", "registered"])
        #expect(all.map(\.number) == all.map(\.number).sorted(by: >))
        let digests: SQL = "SELECT sha256(\(PushToken.sample(0).bytes))"
        #expect(try await all.last?.fingerprint == Array(root.database.column(digests, as: [UInt8].self)[0].prefix(4)))
        #expect(all.last?.subject == "u-0")
        #expect(all.last?.installation == Self.phone)
        #expect(all.last?.aliases == Array(#"{"orderId": ["42"]}"#.utf8))
        #expect(all[1].who == "sender")
        #expect(try await Self.find(root) { $0.activityID = root.id }.count == 4)
        #expect(try await Self.find(root) { $0.installation = Self.phone }.count == 5)
        #expect(try await Self.find(root) { $0.installation = .sample(2) }.isEmpty)
        #expect(try await Self.find(root) { $0.subject = "u-1" }.map(\.activityID) == ["a-2"])
        #expect(try await Self.find(root) { $0.alias = Self.alias }.count == 4)
        #expect(try await Self.find(root) { $0.type = "registered" }.count == 3)
        #expect(try await Self.find(root) { $0.type = "dropped" }.count == 1)
        #expect(try await Self.find(root) { ($0.type, $0.activityID) = ("ended", root.another("a-2").id) }.isEmpty)
        #expect(try await Self.find(root) { $0.since = .minutesAgo(1) }.count == 7)
        #expect(try await Self.find(root) { $0.since = .minutesAgo(-1) }.isEmpty)
        #expect(try await Self.find(root) { $0.until = .minutesAgo(1) }.isEmpty)
        #expect(try await Self.find(root) { $0.until = .minutesAgo(-1) }.count == 7)
        let production = Scope(app: root.scope.app, environment: .production)
        #expect(try await root.registry.events(limit: 10, in: production).items.map(\.type) == ["app-created"])
        _ = try await root.database.scope("com.example.taxi")
        let taxi = try await root.database.scope("com.example.taxi")
        let ofTaxi = try await root.registry.events(limit: 10, in: taxi).items
        #expect(ofTaxi.map(\.type) == ["app-changed", "app-created"])
    }

    @Test(arguments: [false, true]) func `Pages contain each event once`(isIndexed: Bool) async throws {
        let root = try await TestActivity.make()
        for number in 0..<23 { try await root.register(number, at: .minutesAgo(Double(30 - number))) }
        var filter = EventFilter()
        if isIndexed { filter.activityID = root.id }
        var later = 100
        let pages = try await readPages(\.next) { [filter] start in
            let page = try await root.registry.events(filter, after: start, limit: 5, in: root.scope)
            later += 1
            // This event is newer than all later pages.
            try await root.another("later-\(later)").register(later, at: .minutesAgo(1))
            return page
        }
        let found = pages.flatMap(\.items)
        let ofApp = isIndexed ? [] : ["app-created"]
        #expect(found.map(\.type) == [String](repeating: "rotated", count: 22) + ["registered"] + ofApp)
        #expect(Set(found.map(\.number)).count == found.count)
        #expect(pages.count == 5)
    }

    /// Each page scans ranges of events until its time is up, and the cursor continues there.
    @Test func `Rare events are found among many older ones`() async throws {
        let root = try await Self.make()
        try await root.database.run(
            """
            INSERT INTO events (scope_id, drop_on, type, who, activity_id)
            SELECT \(root.scope.id), current_date + 10, 'rotated', 'crowd', 'crowd-' || n
            FROM generate_series(1, 50000) AS n
            """
        )
        var filter = EventFilter()
        filter.alias = Self.alias
        let pages = try await readPages(\.next) { [filter] in
            try await root.registry.events(filter, after: $0, limit: 3, in: root.scope)
        }
        #expect(pages.flatMap(\.items).map(\.type) == ["ended", "dropped", "rotated", "registered"])
    }
}

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
        let pages = try await readPages(\.activities.last?.position) {
            try await root.explain(Self.alias, after: $0, limit: 4)
        }
        let ids = pages.flatMap(\.activities).map(\.activityID.rawValue)
        #expect(ids.count == 25)
        #expect(Set(ids).count == 25)
        #expect(ids.suffix(9).allSatisfy { Int($0.string.dropFirst(2))!.isMultiple(of: 3) })
    }
}

@Suite(.timeLimit(.minutes(5))) struct SearchTests {
    @Test func `A search finds rows by each term`() async throws {
        let activity = try await TestActivity.make("a-1")
        let alias = Alias.sample("liveactivityId", "order-42")
        try await activity.register(1, at: .minutesAgo(5), installation: .sample(7), aliases: [alias])
        try await activity.another("a-2").register(2, at: .minutesAgo(4), installation: .sample(8))
        try await activity.another("a-2").end(at: .minutesAgo(1))
        let digests: SQL = "SELECT sha256(token) FROM activities WHERE activity_id = 'a-1'"
        let digest = try await activity.database.column(digests, as: [UInt8].self)[0]
        let hash = InstallationHash.sample(7).bytes
        func find(_ search: ActivitySearch) async throws -> [UTF8Text] {
            try await activity.registry.findActivities([search], limit: 10, in: activity.scope)
                .map(\.activityID.rawValue)
        }
        for search in [
            ActivitySearch.id("a-1"), .alias(kind: nil, value: "order-42"),
            .alias(kind: "liveactivityId", value: "order-42"), .fingerprint(Array(digest.prefix(4))),
            .fingerprint(digest), .installation(Array(hash.prefix(1))), .installation(hash), .running,
        ] { #expect(try await find(search) == ["a-1"], "\(search)") }
        #expect(try await find(.over) == ["a-2"])
        for search in [
            ActivitySearch.id("a-3"), .alias(kind: "userId", value: "order-42"), .alias(kind: nil, value: "order"),
            .fingerprint([0, 0, 0, 0]), .installation([0xFE]),
        ] { #expect(try await find(search) == [], "\(search)") }
        let other = Scope(app: activity.scope.app, environment: .production)
        #expect(try await activity.registry.findActivities([.id("a-1"), .running], limit: 10, in: other) == [])
        // A record found in two ways is listed once.
        let both = try await activity.registry.findActivities([.id("a-1"), .running], limit: 9, in: activity.scope)
        #expect(both.count == 1)
    }

    @Test func `An activity's audit page has the withheld tokens`() async throws {
        let activity = try await TestActivity.make("a-1")
        try await activity.register(1, at: .minutesAgo(5), aliases: [.sample("userId", "u-7")])
        try await activity.register(2, at: .minutesAgo(4))
        let found = try await activity.registry.life(of: activity.id, events: 1, in: activity.scope)
        let life = try #require(found)
        #expect(life.explanation.facts.availability == .handedOut)
        #expect(life.retired.map(\.reason) == ["rotated"])
        #expect(life.events.map(\.type) == ["rotated"])
        #expect(life.hasMoreEvents)
        #expect(String(decoding: life.aliases ?? [], as: UTF8.self).contains("u-7"))
        #expect(try await activity.registry.life(of: .sample("b"), events: 1, in: activity.scope) == nil)
    }

    @Test func `Each page begins after the last row of the page before`() async throws {
        let activity = try await TestActivity.make()
        let (registry, scope) = (activity.registry, activity.scope)
        for number in 1...5 {
            let profile = InstallationProfile(aliases: nil, observedAt: nil)
            _ = try await registry.put(profile, for: .sample(number), in: scope, by: "test")
            let channel = BroadcastChannel(stored: number < 3 ? "AAAA" : "BBBB", storagePolicy: .none)
            _ = try await registry.put(channel, for: .sample("k", "v-\(number)"), in: scope, by: "test")
        }
        func installations() async throws -> [InstallationHash] {
            var (position, seen): ((Date, InstallationHash)?, [InstallationHash]) = (nil, [])
            while true {
                let page = try await registry.installations(after: position, limit: 2, in: scope)
                seen += page.map(\.installation)
                guard let last = page.last else { return seen }
                position = (last.touchedAt, last.installation)
            }
        }
        #expect(try await installations() == (1...5).reversed().map { .sample($0) })
        // Rows touched in the same microsecond stay together.
        try await activity.database.run("UPDATE installations SET touched_at = '2026-01-01'")
        let tied = try await installations()
        #expect(tied.count == 5)
        #expect(Set(tied).count == 5)
        let first = try await registry.channels(limit: 3, in: scope)
        let rest = try await registry.channels(after: first.last?.alias, limit: 3, in: scope)
        #expect((first + rest).map(\.alias.value) == (1...5).map { "v-\($0)" })
        #expect(try await registry.channelCounts(in: scope) == (5, 2))
        #expect(try await registry.isUsed(scope))
        #expect(try await !registry.isUsed(Scope(app: scope.app, environment: .production)))
        let health = try await registry.health()
        #expect(health.tables.contains { $0.name == "activities" } && health.condition.connectionLimit > 0)
        #expect(health.migrations.last?.version == SchemaMigrator.currentVersion)
    }

}
