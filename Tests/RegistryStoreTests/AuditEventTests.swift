import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

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

    @Test(arguments: [false, true])
    func `Pages contain each event once`(isIndexed: Bool) async throws {
        let root = try await TestActivity.make()
        for number in 0..<23 { try await root.register(number, at: .minutesAgo(Double(30 - number))) }
        var filter = EventFilter()
        if isIndexed { filter.activityID = root.id }
        var (found, position, pages): ([AuditEvent], ListPosition?, Int) = ([], .start, 0)
        while let start = position {
            let page = try await root.registry.events(filter, after: start, limit: 5, in: root.scope)
            found += page.items
            position = page.next
            pages += 1
            // This event is newer than all later pages.
            try await root.another("later-\(pages)").register(100 + pages, at: .minutesAgo(1))
        }
        let ofApp = isIndexed ? [] : ["app-created"]
        #expect(found.map(\.type) == [String](repeating: "rotated", count: 22) + ["registered"] + ofApp)
        #expect(Set(found.map(\.number)).count == found.count)
        #expect(pages == 5)
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
        var (found, position): ([AuditEvent], ListPosition?) = ([], .start)
        var filter = EventFilter()
        filter.alias = Self.alias
        while let start = position {
            let page = try await root.registry.events(filter, after: start, limit: 3, in: root.scope)
            found += page.items
            position = page.next
        }
        #expect(found.map(\.type) == ["ended", "dropped", "rotated", "registered"])
    }
}
