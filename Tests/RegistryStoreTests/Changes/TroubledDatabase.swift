import PostgresDriver
import RegistryStore
import Synchronization
import TestSupport
import Testing

/// Three instances of the service; some transactions roll back at their commit, and connections break during their use.
final class TroubledDatabase: Sendable {
    let service: CallService
    private let administration: TestDatabase
    private let count = Mutex(0)

    var broken: Int { count.withLock { $0 } }

    /// The number of transactions that rolled back at their commit. A rollback does not reset the sequence that counts
    /// them.
    var undone: Int {
        get async throws { try await service.database.count("SELECT nextval('undone') - 1") }
    }

    private init(_ service: CallService, _ administration: TestDatabase) {
        (self.service, self.administration) = (service, administration)
    }

    static func make() async throws -> TroubledDatabase {
        // Its own database, because any connection to it may break.
        let database = try await TestDatabase.make(isAlone: true)
        // Fails at the commit, after the transaction has got its event numbers. The service retries this serialization
        // failure.
        try await database.script(
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
        let service = try await CallService(database, instances: 3, isSilent: true)
        return TroubledDatabase(service, try await TestDatabase.make(maximumConnections: 2))
    }

    func breakConnection() async throws {
        let name = try #require(service.database.connectionString.split(separator: "=").last).description
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
