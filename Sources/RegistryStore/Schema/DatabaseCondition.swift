import Foundation
import PostgresDriver

/// The condition of a Postgres, for those who run it; whether or not it has the registry's schema.
public struct DatabaseCondition: Sendable, Hashable {
    /// A table whose dead rows autovacuum leaves lying.
    public struct NeglectedTable: Sendable, Hashable {
        /// The name of the table; a partition has its own.
        public let name: String
        /// How many dead rows it has, as Postgres estimates.
        public let deadRows: Int
    }

    /// The least version that the service works with, as `server_version_num`.
    public static let leastVersion = 150_000

    /// `server_version`, such as `15.4 (Debian 15.4-1)`.
    public var version = ""
    /// `server_version_num`: the major version times 10,000, and the minor one.
    public var versionNumber = 0
    /// It takes no writes.
    public var isReadOnly = false
    /// The settings by which it could lose acknowledged writes; empty when there are none.
    public var unsafeSettings: [UnsafeDurability] = []
    /// Postgres's clock less this machine's, and by how much that may be wrong: half of the question's round trip.
    public var clockSkew = Duration.zero
    /// How far ``clockSkew`` may be off.
    public var clockUncertainty = Duration.zero
    /// Connections that are open, in all databases, and how many may be, those kept for superusers left out.
    public var connections = 0
    /// `max_connections`, less those that are kept for superusers.
    public var connectionLimit = 0
    /// Whether both autovacuum and the statistics that it needs are on.
    public var isAutovacuumOn = true
    /// Tables of the registry with many dead rows, the worst first.
    public var neglectedTables: [NeglectedTable] = []

    init(_ session: borrowing PostgresSession) throws {
        let row = try session.execute(ConditionStatements.settings)[0]
        (version, versionNumber, isReadOnly, isAutovacuumOn, connections, connectionLimit) = try row.decode(
            String.self,
            Int.self,
            Bool.self,
            Bool.self,
            Int.self,
            Int.self
        )
        unsafeSettings = try UnsafeDurability.found(session)
        try compareClocks(session)
        neglectedTables = try session.execute(ConditionStatements.neglectedTables).rows.map { row in
            let (name, deadRows) = try row.decode(String.self, Int.self)
            return NeglectedTable(name: name, deadRows: deadRows)
        }
    }

    private mutating func compareClocks(_ session: borrowing PostgresSession) throws {
        // Once before: the first time, the statement is prepared, which takes long.
        _ = try session.execute(ConditionStatements.clock)
        let start = Date()
        let theirs = try session.execute(ConditionStatements.clock)[0].decode(Date.self)
        let half = Date().timeIntervalSince(start) / 2
        clockSkew = .seconds(theirs.timeIntervalSince(start.addingTimeInterval(half)))
        clockUncertainty = .seconds(half)
    }
}

extension Registry {
    /// Asks Postgres how it is.
    ///
    /// - Throws: `unavailable`.
    public func databaseCondition() async throws -> DatabaseCondition {
        try await read { try DatabaseCondition($0) }
    }
}
