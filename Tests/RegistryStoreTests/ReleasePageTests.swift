import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// One call releases all quarantines, in pages.
@Suite(.timeLimit(.minutes(15))) struct ReleasePageTests {
    private static let count = 2 * ReleaseUnit.pageSize + 34

    private static func make() async throws -> TestActivity {
        let activity = try await TestActivity.make()
        try await activity.database.addActivities(1...count, at: .minutesAgo(30), in: activity.scope)
        try await activity.database.run(
            """
            UPDATE token_values SET quarantined_kind = 'update', quarantine_reason = 'BadDeviceToken', quarantined_at =
                CASE activity_id WHEN \("bulk-\(count)") THEN \(Date.minutesAgo(19)) ELSE \(Date.minutesAgo(20)) END
            """
        )
        try await activity.database.run("UPDATE activities SET withheld = 'quarantined'")
        #expect(try await activity.database.deliverableCount(in: activity.scope) == 0)
        return activity
    }

    private static let released: SQL = "SELECT count(*) FROM events WHERE type = 'released'"

    @Test func `Very many quarantines end in pages`() async throws {
        let activity = try await Self.make()
        let (registry, scope) = (activity.registry, activity.scope)
        #expect(try await registry.releaseAll(in: scope, by: "admin") == Self.count)
        #expect(try await activity.database.deliverableCount(in: scope) == Self.count)
        #expect(try await activity.count(Self.released) == Self.count)
        #expect(try await activity.mostEventsOfATransaction("released") <= ReleaseUnit.pageSize)
        #expect(try await registry.releaseAll(in: scope, by: "admin") == 0)
    }

    /// The latest quarantine cannot be released at first.
    @Test func `An interrupted release keeps its progress and is completed by its repetition`() async throws {
        let activity = try await Self.make()
        let (database, scope) = (activity.database, activity.scope)
        let isKept = "quarantined_at IS NOT NULL OR activity_id <> 'bulk-\(Self.count)'"
        try await database.script("ALTER TABLE token_values ADD CONSTRAINT is_kept CHECK (\(isKept))")
        let registry = database.anotherRegistry(isSilent: true)
        #expect(await activity.problem { try await registry.releaseAll(in: scope, by: "admin") } != nil)
        let kept = try await database.deliverableCount(in: scope)
        #expect((ReleaseUnit.pageSize..<Self.count).contains(kept))
        #expect(try await activity.count(Self.released) == kept)
        try await database.script("ALTER TABLE token_values DROP CONSTRAINT is_kept")
        #expect(try await registry.releaseAll(in: scope, by: "admin") == Self.count - kept)
        #expect(try await database.deliverableCount(in: scope) == Self.count)
        #expect(try await activity.count(Self.released) == Self.count)
    }
}
