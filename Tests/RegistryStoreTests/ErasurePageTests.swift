import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// An erasure completes in pages, regardless of the number of rotations.
@Suite(.timeLimit(.minutes(15))) struct ErasurePageTests {
    private static let alias = Alias.sample("userId", "erased-person")

    private static func addEvents(
        _ count: Int,
        of activity: ActivityID? = nil,
        ofInstallation installation: InstallationHash? = nil,
        to fixture: some Fixture
    ) async throws {
        try await fixture.database.run(
            """
            INSERT INTO events (scope_id, drop_on, type, who, activity_id, installation_hash)
            SELECT \(fixture.scope.id), current_date + 90, 'rotated', 'test', \(activity?.rawValue), \(installation?.bytes)
            FROM generate_series(1, \(count)) AS n
            """
        )
    }

    @Test func `An activity and an installation with very many events are erased in pages`() async throws {
        let activity = try await TestActivity.make("erased-activity")
        let (phone, size) = (activity.installation(0xE7), Erasure.eventPageSize)
        try await activity.register(1, at: .minutesAgo(5), aliases: [Self.alias])
        try await phone.put([Self.alias], at: .minutesAgo(5))
        try await Self.addEvents(2 * size, of: activity.id, to: activity)
        try await Self.addEvents(2 * size, ofInstallation: phone.hash, to: activity)
        let counts = try await activity.erase(.alias(Self.alias))
        // Each row counts once, including the events of the registration and the profile.
        #expect(counts.activities == 1)
        #expect(counts.events == 4 * size + 2)
        let named: SQL = "SELECT count(*) FROM events WHERE activity_id IS NOT NULL OR installation_hash IS NOT NULL"
        #expect(try await activity.count(named) == 0)
        #expect(try await activity.mostEventsOfATransaction("rotated") <= size)
        #expect(try await activity.record() == nil)
        #expect(try await phone.record() == nil)
    }

    /// The last event cannot be redacted at first.
    @Test func `An interrupted erasure keeps its progress, and a repetition completes it`() async throws {
        let activity = try await TestActivity.make("erased-activity")
        let (database, scope) = (activity.database, activity.scope)
        let size = Erasure.eventPageSize
        try await activity.register(1, at: .minutesAgo(5), aliases: [Self.alias])
        try await Self.addEvents(2 * size, of: activity.id, to: activity)
        let last = try await activity.count("SELECT max(event_number) FROM events WHERE type = 'rotated'")
        try await database.script(
            "ALTER TABLE events ADD CONSTRAINT is_kept CHECK (activity_id IS NOT NULL OR event_number <> \(last))"
        )
        let registry = database.anotherRegistry(isSilent: true)
        #expect(await activity.problem { try await registry.erase(.alias(Self.alias), in: scope, by: "admin") } != nil)
        let left = try await activity.count("SELECT count(*) FROM events WHERE activity_id IS NOT NULL")
        #expect((1...size + 1).contains(left))
        #expect(try await activity.tokens(Self.alias) == [])
        #expect(try await activity.currentToken() == nil)
        let late = await activity.problem { try await activity.register(2, at: .minutesAgo(1)) }
        #expect(late?.code == .activityEnded)
        // The event for followers of the feed exists.
        #expect(try await activity.count("SELECT count(*) FROM events WHERE type = 'erased'") == 1)
        try await database.script("ALTER TABLE events DROP CONSTRAINT is_kept")
        let counts = try await registry.erase(.alias(Self.alias), in: scope, by: "admin")
        #expect(counts.activities == 1)
        #expect(counts.events == left)
        #expect(try await activity.count("SELECT count(*) FROM events WHERE activity_id IS NOT NULL") == 0)
        #expect(try await activity.record() == nil)
    }

    @Test func `Events that name an alias are found in all pages of the trail`() async throws {
        let phone = try await TestInstallation.make(0xE7)
        try await Self.addEvents(Erasure.searchedPageSize + 1, to: phone)
        try await phone.database.addEvents(1, of: .sample(9), under: Self.alias, in: phone.scope)
        #expect(try await phone.erase(.alias(Self.alias)).events == 1)
    }

    @Test func `An installation with very many tokens is erased in pages`() async throws {
        let phone = try await TestInstallation.make(0xE7)
        let (database, scope) = (phone.database, phone.scope)
        let size = Registry.tokenPageSize
        let count = size + 5
        try await phone.put([Self.alias], at: .minutesAgo(5))
        try await phone.register(1, at: .minutesAgo(5))
        try await database.addValues(1...count, of: phone.hash, in: scope)
        // Values that an activity also claimed stay without the installation.
        try await database.run(
            """
            UPDATE token_values t SET activity_id = 'activity', activity_key = 1, observed_at = now()
            WHERE t.installation_kind = 'device' AND get_byte(t.token_digest, 0) >= 128
            """
        )
        let named: SQL = "SELECT count(*) FROM token_values WHERE installation_hash = \(phone.hash.bytes)"
        #expect(try await database.count(named) == count)
        // The last page waits, because it deletes the rows that lead to the installation.
        let locks: SQL = "SELECT FROM installation_aliases WHERE scope_id = \(scope.id) FOR UPDATE"
        let held = try await HeldTransaction(locks, in: database)
        async let erased = phone.erase(.installation(phone.hash))
        try await held.waitUntilSomebodyWaits()
        #expect(try await database.count(named) == count - size)
        #expect(try await phone.token() == nil)
        try await held.release()
        #expect(try await erased.records >= count)
        #expect(try await database.count(named) == 0)
        #expect(try await database.rows(in: "token_values") > 0)
        #expect(try await phone.record() == nil)
    }

    @Test func `Names known only by their end are erased in pages`() async throws {
        let phone = try await TestInstallation.make(0xE7)
        let (database, scope) = (phone.database, phone.scope)
        let count = 2 * Registry.identityPageSize + 1
        try await database.run(
            """
            INSERT INTO alias_identities (scope_id, alias, owner, ended_at)
            SELECT \(scope.id), 'match-' || n, \(ActivityOwner.installation(phone.hash).stored), now()
            FROM generate_series(1, \(count)) AS n
            """
        )
        let locks: SQL = """
            SELECT FROM alias_identities
            WHERE scope_id = \(scope.id) AND alias = \("match-\(count)") FOR UPDATE
            """
        let held = try await HeldTransaction(locks, in: database)
        async let erased = phone.erase(.installation(phone.hash))
        try await held.waitUntilSomebodyWaits()
        let left: SQL = "SELECT count(*) FROM alias_identities"
        #expect(try await database.count(left) <= Registry.identityPageSize + 1)
        try await held.release()
        #expect(try await erased.records == count)
        #expect(try await database.count(left) == 0)
    }
}
