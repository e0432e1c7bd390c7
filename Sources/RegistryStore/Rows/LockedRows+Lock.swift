import PostgresDriver
import RegistryCore
import RegistryRules

/// The rows to lock. Every unit of work locks in one order: the installation, activities by id, token values by digest,
/// token slots.
struct RowLocks {
    let scope: Scope
    var ids: Set<ActivityID> = []
    /// Activities to lock that were found before, as owners of values or as running on an installation.
    var owners: Set<ActivityID> = []
    var digests: Set<TokenDigest> = []
    /// The installations named by requests; nil if activities are not compared with their installations.
    var installations: Set<InstallationHash>?
    /// Values that tokens of installations may have, whose slots are locked too.
    var sharedDigests: Set<TokenDigest> = []
    /// Whether activities are not locked, because deliveries do not change them.
    var areForDeliveries = false

    /// Locks the rows and then reads the time, in one round trip. Installations that requests do not name take another
    /// round trip.
    func lockRows(_ transaction: borrowing PostgresTransaction) throws -> LockedRows {
        let locks = locks
        let lockHolders = sharedDigests.isEmpty ? [] : SlotHolders.lock(sharedDigests, in: scope)
        let results = try transaction.pipeline(locks + lockHolders + [readContext])
        var rows = try rows(results.prefix(locks.count) + results.suffix(1), transaction)
        let holders = try SlotHolders(results.dropFirst(locks.count).dropLast())
        rows.installations = InstallationRows(slots: holders.slots, others: holders.installations)
        return rows
    }

    /// Also locks the rows of a request about an installation.
    func lockRows(
        _ installation: InstallationLocks,
        _ transaction: borrowing PostgresTransaction
    ) throws -> LockedRows {
        let locks = locks
        let results = try transaction.pipeline(
            [installation.lockInstallation(in: scope)] + locks + [installation.lockSlots(in: scope)]
                + SlotHolders.lock(digests, in: scope) + [Erasures.find(installation.names, in: scope), readContext]
        )
        let slots = 1 + locks.count
        let holders = try SlotHolders(results[slots + 1...slots + 2])
        var rows = try rows(results[1..<slots] + results.suffix(1), transaction)
        rows.installations = InstallationRows(
            installations: try results[0].decode(Installation.self),
            slots: try results[slots].decode(InstallationToken.self) + holders.slots,
            others: holders.installations,
            erasedAt: try Erasures.last(results[slots + 3])
        )
        return rows
    }

    private var locks: [SQL] {
        let lockActivities: Query = areForDeliveries ? "feedback.read-owners" : .lockActivities
        let lock = lockActivities(["scope": scope.id, "ids": Array(ids.union(owners))])
        guard !digests.isEmpty else { return [lock] }
        return [lock, Query.lockValues(["scope": scope.id, "digests": Array(digests)])]
    }

    private var readContext: SQL { Clock.read(in: scope, installations ?? []) }

    private func rows(
        _ results: ArraySlice<PostgresResult>,
        _ transaction: borrowing PostgresTransaction
    ) throws -> LockedRows {
        let found = results[results.startIndex]
        let activities = try areForDeliveries ? found.decode(Activity.init(delivered:)) : found.decode(Activity.self)
        let context = results[results.endIndex - 1]
        let clock = try Clock(context)
        var times = try Self.times(context)
        if let installations {
            let others = Set(activities.compactMap(\.installation)).subtracting(installations)
            if !others.isEmpty {
                times.merge(try Self.times(transaction.execute(Clock.read(in: scope, others)))) { $1 }
            }
        }
        return LockedRows(
            now: clock.now,
            hasErasures: clock.hasErasures,
            settings: scope.app.settings,
            lockedOwners: owners,
            activities: activities,
            values: digests.isEmpty ? [] : try results[results.startIndex + 1].decode(TokenValue.self),
            times: times
        )
    }

    private static func times(_ context: PostgresResult) throws -> [InstallationHash: InstallationTimes] {
        let found = try context.decode { row in
            try (row["installation_hash"] as InstallationHash?).map { ($0, try InstallationTimes(row: row)) }
        }
        return Dictionary(uniqueKeysWithValues: found.compactMap(\.self))
    }
}

struct InstallationLocks {
    let installation: InstallationHash
    let includesSlots: Bool
    /// Names in the request that may be erased.
    let names: [UTF8Text]

    init(of request: InstallationRequest, aliases: [Alias] = [], includesSlots: Bool = false) {
        installation = request.installation
        self.includesSlots = includesSlots
        names =
            [ErasureSubject.installation(request.installation).name] + aliases.map { ErasureSubject.alias($0).name }
            + (request.claimant.subject.map { [ErasureSubject.subject($0).name] } ?? [])
    }

    func lockInstallation(in scope: Scope) -> SQL {
        Query.lockInstallations(["scope": scope.id, "hashes": [installation]])
    }

    func lockSlots(in scope: Scope) -> SQL {
        Query("installations.lock-slots")(["scope": scope.id, "installation": includesSlots ? installation : nil])
    }
}

/// The token slots that have some token values. Locked after the values.
struct SlotHolders {
    let slots: [InstallationToken]
    /// The subjects and aliases of the slots' installations, which are not locked.
    let installations: [Installation]

    /// Maximum slots per value. Start tokens may repeat, but a phone repeats one for only a few types.
    static let most = 500

    static func lock(_ digests: Set<TokenDigest>, in scope: Scope) -> [SQL] {
        let digests = Array(digests)
        return [
            Query("installations.lock-owners")(["scope": scope.id, "digests": digests]),
            Query("installations.lock-sharers")(["scope": scope.id, "digests": digests, "limit": most]),
        ]
    }

    init(_ results: some Sequence<PostgresResult>) throws {
        let holders = try results.flatMap { result in
            try result.decode { row in
                let slot = try InstallationToken(row: row)
                var installation = Installation(hash: slot.id.installation)
                installation.subject = try row["subject"]
                installation.aliases = try Stamped(row, "aliases", observedAt: "aliases_observed_at")
                return (slot: slot, installation: installation)
            }
        }
        slots = holders.map(\.slot)
        installations = holders.map(\.installation)
    }
}

extension LockedRows {
    /// Writes the changed rows and commits, in one round trip.
    func write(in scope: Scope, _ transaction: borrowing PostgresTransaction, and others: [SQL] = []) throws {
        guard missingIDs.isEmpty else { throw MissingLocks(ids: missingIDs) }
        _ = try transaction.pipeline(others + RowWrite(rows: self, scope: scope).statements, finishing: true)
    }
}

/// Rows that a transaction needs but has not locked. The transaction restarts with them, to keep the lock order.
struct MissingLocks: Error {
    let ids: Set<ActivityID>
}

extension PostgresSession {
    /// Runs a transaction. Restarts it if it needs other locks, or if another session inserted one of its new rows.
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
            } catch let error as PostgresError where error.isUniqueViolation && attempts < 10 { continue }
        }
    }
}

/// The time of a transaction's decision.
struct Clock {
    let now: Timestamp
    let hasErasures: Bool

    static func read(in scope: Scope, _ installations: Set<InstallationHash> = []) -> SQL {
        Query("activities.read-context")(["scope": scope.id, "hashes": Array(installations), "app": scope.app.id])
    }

    init(_ result: PostgresResult) throws {
        let clocks: [(Timestamp, Bool)] = try result.decode { (try $0["now"], try $0["has_erasures"]) }
        guard let clock = clocks.first else { throw Problem.appDeleted }
        (now, hasErasures) = clock
    }
}

extension Query {
    static let lockActivities: Query = "activities.lock"
    static let lockValues: Query = "activities.lock-values"
    static let lockInstallations: Query = "installations.lock"
}
