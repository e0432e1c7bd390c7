import Logging
import PostgresDriver
import RegistryStore
import Testing

@Suite(.timeLimit(.minutes(5))) struct SessionSettingsTests {
    @Test func `A session keeps its durability and warnings against other settings`() async throws {
        let cluster = FaultCluster()
        let url = try await cluster.start() + " options='-c client_min_messages=error'"
        let pool = PostgresPool(databaseURL: url, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let found = try await pool.withSession { session in
            try session.execute(
                """
                SELECT name || ' ' || setting || ' ' || source FROM pg_settings
                WHERE name IN ('client_min_messages', 'synchronous_commit') ORDER BY name
                """
            ).decode(String.self)
        }
        #expect(found == ["client_min_messages warning session", "synchronous_commit on session"])
        await pool.shutdown()
        await cluster.remove()
    }
}
