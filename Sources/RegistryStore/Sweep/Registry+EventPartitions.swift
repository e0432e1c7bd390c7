import PostgresDriver
import RegistryCore

extension Registry {
    /// How many days ahead partitions are made. If sweeps fail longer, events go to the default partition.
    private static let daysAhead = 3

    /// Any instance may run it at any time; an advisory lock lets one work and the others skip. A change blocked by a
    /// long reader is retried next time.
    package func renewEventPartitions() async throws -> (made: Int, dropped: Int) {
        let apps = try await apps()
        let past = try await read { session in
            try session.run("partitions.find-past").decode(String.self).map(EventPartition.init(name:))
        }
        // Events written before their partition existed are deleted row by row.
        let strayed = try await read { session in
            try session.run("partitions.find-scopes").decode { try $0["scope_id"] as Int64 }
        }
        let losing = past.isEmpty ? [] : apps.flatMap { app in APNSEnvironment.allCases.map { app.scopeIDs[$0] } }
        for scope in Set(losing + strayed) { try await recordLoss(of: scope) }
        var dropped = 0
        for partition in past where try await change(partition.removal) { dropped += 1 }
        for scope in strayed { try await writePages(Query("partitions.delete-past")(["scope": scope])) }
        // Last, because each new partition reads the default partition, and the deletion made that smaller.
        let retentions = apps.map(\.settings.eventRetention)
        return (try await makeMissing(for: retentions, daysAhead: Self.daysAhead), dropped)
    }

    /// Must precede the app's first event of today: a day that began in the default partition stays there.
    ///
    /// - Parameter retention: the new retention of its events; nil to keep the current one.
    func makeEventPartition(of bundleID: BundleID, retention: Duration?) async throws {
        let stored = retention == nil ? try await app(bundleID)?.settings : nil
        let retention = retention ?? (stored ?? AppSettings()).eventRetention
        _ = try await makeMissing(for: [retention], daysAhead: 0)
    }

    private func makeMissing(for retentions: [Duration], daysAhead: Int) async throws -> Int {
        let wanted: QueryValues = ["retentions": retentions, "days_ahead": daysAhead]
        let missing = try await read { session in
            do {
                return try session.run("partitions.find-missing", wanted).decode(String.self)
            } catch let error as PostgresError where EventPartition.mayWait(error) {
                // Reading the default partition takes too long. The day's events go there.
                return []
            }
        }
        var made = 0
        for name in missing where try await change(EventPartition(name: name).creation) { made += 1 }
        return made
    }

    /// Stores the number up to which a scope's events are dropped, before they are.
    private func recordLoss(of scope: Int64) async throws {
        try await write { session in
            let past = try session.run("partitions.read-last-past", ["scope": scope])
            let last: Int64? = try past.decode { try $0["last"] }[0]
            if let last { _ = try session.run("partitions.record-loss", ["last": last, "scope": scope]) }
        }
    }

    /// - Returns: false if another instance works on it, or the table is locked.
    private func change(_ commands: [String]) async throws -> Bool {
        try await write { session in
            do {
                return try session.transaction { transaction in
                    let isOurs: Bool = try transaction.run("partitions.lock").decode { try $0["is_ours"] }[0]
                    guard isOurs else { return false }
                    for command in commands { try transaction.simple(command) }
                    return true
                }
            } catch let error as PostgresError where EventPartition.mayWait(error) { return false }
        }
    }
}

/// A partition of the audit trail, containing the events that expire on one day.
struct EventPartition: Sendable, Hashable {
    /// For example `events_20270131`.
    let name: String

    /// Writers of events queue behind a drop, so its lock timeout is a fifth of a request's limit. Citus needs that
    /// much, because its transactions hold locks on dozens of shards for most of a second.
    private static let lockTimeout = "SET LOCAL lock_timeout = '1s'"

    /// Runs in the transaction that holds the lock. The commands are sent one by one, because Citus forwards a
    /// command's whole text to its other nodes.
    var creation: [String] {
        let day = "to_date('\(name.suffix(8))', 'YYYYMMDD')"
        return [
            Self.lockTimeout, "CREATE TABLE \(name) (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS)",
            "ALTER TABLE events ATTACH PARTITION \(name) FOR VALUES FROM (\(day)) TO (\(day) + 1)",
        ]
    }

    var removal: [String] { [Self.lockTimeout, "DROP TABLE IF EXISTS \(name)"] }

    /// Whether to retry later: another session locked the table, made the partition, or wrote its events (or very many)
    /// into the default partition.
    static func mayWait(_ error: PostgresError) -> Bool {
        ["55P03", "42P07", "23514", "40P01", "57014"].contains(error.sqlState ?? "")
    }
}
