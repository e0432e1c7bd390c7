import PostgresDriver
import RegistryCore
import RegistryRules

/// The rows that a unit of work locks. All units lock in one order: the installation, activities by id, token slots, token values
/// by digest.
struct RowLocks {
    var ids: Set<ActivityID> = []
    var digests: Set<TokenDigest> = []
    /// Installations that new activities belong to.
    var installations: Set<InstallationHash> = []

    /// Locks the rows in one round trip, and reads the time after it.
    ///
    /// - Throws: `unknownApp`.
    func take(in scope: Scope, _ transaction: borrowing PostgresTransaction) throws -> LockedRows {
        let names = ids.sorted()
        let locked = try transaction.pipeline([
            Query.lockActivities(["scope": scope.id, "ids": names]),
            Query.lockValues(["scope": scope.id, "digests": digests.sorted().map(\.bytes)]),
            Query.readInstallations(["scope": scope.id, "hashes": installations.map(\.bytes), "ids": names]),
            Query.readClock(["scope": scope.id, "app": scope.app.id]),
        ])
        guard let clock = try locked[3].decode(Clock.self).first else {
            throw Problem(.unknownApp, "The app was deleted.")
        }
        let activities = try locked[0].decode {
            (try Activity(row: $0), try RowHandle(row: $0, key: $0["activity_key"]))
        }
        let values = try locked[1].decode { (try TokenValue(row: $0), try RowHandle(row: $0, key: nil)) }
        var rows = LockedRows(
            now: clock.now,
            hasErasures: clock.hasErasures,
            lifetime: scope.app.settings.activityLifetime,
            lockedIDs: ids,
            activities: activities.map(\.0),
            values: values.map(\.0),
            installations: try Installation.dictionary(locked[2])
        )
        for (activity, handle) in activities { rows.handles[activity.id] = handle }
        for (value, handle) in values { rows.valueHandles[value.digest] = handle }
        return rows
    }
}

extension LockedRows {
    /// Writes the rows that requests changed, in one round trip.
    ///
    /// - Parameter isLast: whether the transaction commits with it.
    /// - Throws: ``MissingLocks``.
    func write(in scope: Scope, _ transaction: borrowing PostgresTransaction, isLast: Bool) throws {
        guard missingIDs.isEmpty else { throw MissingLocks(ids: missingIDs) }
        _ = try transaction.pipeline(RowWrite(rows: self, scope: scope).statements, finishing: isLast)
    }
}

/// Rows that a transaction needs and has not locked. It starts again with them, in the order of locks.
struct MissingLocks: Error {
    let ids: Set<ActivityID>
}

extension PostgresSession {
    /// Runs a transaction, and runs it again if it needs other locks, or if another session inserted one of its new rows meanwhile.
    func transaction<Value>(
        _ body: (borrowing PostgresTransaction, _ additionalIDs: Set<ActivityID>) throws -> Value
    ) throws -> Value {
        var ids: Set<ActivityID> = []
        var attempts = 0
        while true {
            attempts += 1
            do {
                return try transaction { try body($0, ids) }
            } catch let missing as MissingLocks {
                ids.formUnion(missing.ids)
            } catch let error as PostgresError where error.isUniqueViolation && attempts < 10 {
                continue
            }
        }
    }
}

extension RowHandle {
    fileprivate init(row: NamedRow, key: Int64?) throws {
        self.init(place: try row["place"], key: key)
    }
}

/// The time of a transaction's decision.
private struct Clock: DecodableRow {
    let now: Timestamp
    let hasErasures: Bool

    init(row: NamedRow) throws {
        now = try row["now"]
        hasErasures = try row["has_erasures"]
    }
}

extension Query {
    fileprivate static let lockActivities: Query = "activities.lock"
    fileprivate static let lockValues: Query = "activities.lock-values"
    fileprivate static let readInstallations: Query = "activities.read-installations"
    fileprivate static let readClock: Query = "activities.read-clock"
}
