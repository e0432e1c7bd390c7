import PostgresDriver
import RegistryStore
import Synchronization
import TestSupport
import Testing

/// A database with three instances of the service at it, in which some transactions are undone as they commit, and
/// connections break while they are used.
final class TroubledDatabase: Sendable {
    let database: TestDatabase
    /// Instances that say nothing of what befalls them.
    let registries: [Registry]
    /// Breaks connections, and is never broken itself.
    private let administration: TestDatabase
    private let count = Mutex(0)

    /// How many connections were broken.
    var broken: Int { count.withLock { $0 } }

    /// How many commits were undone. Sequences keep what transactions lose.
    var undone: Int {
        get async throws { try await database.count("SELECT nextval('undone') - 1") }
    }

    private init(_ database: TestDatabase, _ administration: TestDatabase) {
        self.database = database
        self.administration = administration
        registries = (0..<3).map { _ in database.anotherRegistry(isSilent: true) }
    }

    static func make() async throws -> TroubledDatabase {
        // Alone, for it breaks whatever connection there is.
        let database = try await TestDatabase.make(isAlone: true)
        try await database.pool.withSession { session in
            // At the commit, so that its numbers are drawn by then. As a serialization failure, after which the service
            // begins anew.
            try session.simple(
                """
                CREATE SEQUENCE undone;
                CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF random() < 0.02 THEN
                        PERFORM nextval('undone');
                        RAISE 'undone' USING ERRCODE = '40001';
                    END IF;
                    RETURN NULL;
                END $$;
                CREATE CONSTRAINT TRIGGER undo AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION undo()
                """
            )
        }
        return TroubledDatabase(database, try await TestDatabase.make(maximumConnections: 2))
    }

    /// Breaks a connection at which somebody is at work: perhaps before the commit, perhaps when only the answer is missing.
    func breakConnection() async throws {
        let name = try #require(database.connectionString.split(separator: "=").last).description
        let broken = try await administration.count(
            """
            SELECT count(*) FROM (
                SELECT pg_terminate_backend(busy.pid) FROM (
                    SELECT a.pid FROM pg_stat_activity a
                    WHERE a.datname = \(name) AND a.backend_type = 'client backend'
                    ORDER BY a.state = 'active' DESC, random() LIMIT 1
                ) AS busy
            ) AS broken
            """
        )
        count.withLock { $0 += broken }
    }
}
