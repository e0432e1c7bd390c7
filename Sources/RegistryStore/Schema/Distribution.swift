import PostgresDriver

/// The distribution of the tables over several servers by Citus: an app's rows lie together on one of them, its worker.
///
/// All statements go through the coordinator, which passes a statement about one app on to that app's worker.
enum Distribution {
    /// Tables of which every node has all rows; they are small. All others are distributed by the app's number.
    static let referenceTables = ["api_keys", "apps", "deleted_apps", "token_kinds"]

    /// All tables of the migrations but the list of these themselves, which the coordinator alone asks for. Partitions go with
    /// their table.
    static let tables = Migration.all.flatMap { migration in
        migration.sql.matches(of: #/CREATE TABLE (\w+) \(/#).map { String($0.1) }
    }

    /// The settings of the service's sessions, of which the coordinator's sessions on workers learn nothing: they are set for
    /// its role. The times of an activity are sums of local times, and plans must not read whole tables.
    static let settings = PostgresPool.settings

    static let isInstalled: SQL = "SELECT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus')"

    /// Whether the server is the coordinator, and whether the registry's tables are distributed. Only for a database that has the
    /// extension.
    static let role: SQL = """
        SELECT (SELECT g.groupid = 0 FROM pg_dist_local_group g),
            EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = to_regclass('activities'))
        """

    /// Makes a new connection ready for Citus, where it is to that.
    ///
    /// - Parameter choosesPlans: whether plans are to be made as Citus needs them: by a generic one it does not see which app a
    ///   statement is about.
    /// - Throws: ``DistributionError/notTheCoordinator``.
    static func prepare(_ session: borrowing PostgresSession, choosesPlans: Bool) throws {
        guard try session.execute(isInstalled)[0].decode(Bool.self) else { return }
        let (isCoordinator, isDistributed) = try session.execute(role)[0].decode(Bool.self, Bool.self)
        guard isCoordinator else { throw DistributionError.notTheCoordinator }
        if isDistributed { session.noteDistribution() }
        if choosesPlans { _ = try session.execute("SELECT set_config('plan_cache_mode', 'auto', false)") }
    }
}

/// Why tables cannot be distributed, or distributed ones not be worked with.
package enum DistributionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The database does not have the extension.
    case notInstalled
    /// No node is known that may have shards.
    case noWorker
    /// The server is a worker.
    case notTheCoordinator
    /// The role may not do what it takes; with Postgres's own reason.
    case notPermitted(String)

    /// The problem, in a sentence.
    package var detail: String {
        switch self {
        case .notInstalled: "The database does not have the extension citus, so nothing can be distributed."
        case .noWorker:
            "The coordinator knows no worker that may have shards, so there is nowhere to distribute tables to."
        case .notTheCoordinator:
            "This Postgres is a worker of Citus: the registry's numbers, locks and positions are the coordinator's."
        case .notPermitted(let reason): "The role may not distribute the tables: \(reason)."
        }
    }

    /// The remedy, in a sentence.
    package var remedy: String {
        switch self {
        case .notInstalled:
            """
            As a superuser, on every node: put citus into shared_preload_libraries, start Postgres anew, and run \
            CREATE EXTENSION citus in the database.
            """
        case .noWorker:
            """
            As a superuser, on this node: SELECT citus_set_coordinator_host('this host'), and for each worker \
            SELECT citus_add_node('its host', 5432).
            """
        case .notTheCoordinator: "Name the coordinator in the connection string."
        case .notPermitted: "Run pushreg migrate --distribute as the role that owns the tables and that serve uses."
        }
    }

    /// The problem and the remedy, two sentences.
    package var description: String { "\(detail) \(remedy)" }
}
