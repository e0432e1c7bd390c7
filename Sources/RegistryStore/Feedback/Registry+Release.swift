import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Releases an activity's token from quarantine.
    ///
    /// - Returns: false if it was not quarantined.
    /// - Throws: `activityNotFound`.
    package func release(_ id: ActivityID, in scope: Scope, by who: UTF8Text) async throws -> Bool {
        let find = Query("feedback.find-value-of-activity")(["scope": scope.id, "id": id])
        let unit = ReleaseUnit(scope: scope, who: who)
        let isReleased = try await write { session in
            try session.transaction { try unit.releaseOne(find, in: $0, locking: $1) }
        }
        guard let isReleased else { throw Problem(.activityNotFound, "The activity is not known here.") }
        return isReleased
    }

    /// Releases an installation's token from quarantine, for all tokens with its value. One that is not in quarantine stays as it is.
    ///
    /// - Throws: `tokenNotFound`.
    package func releaseToken(
        in slot: TokenSlot,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text
    ) async throws {
        let find = Query("feedback.find-value-of-slot")([
            "scope": scope.id, "installation": installation, "kind": slot.kind.name, "type": slot.typeName,
        ])
        let unit = ReleaseUnit(scope: scope, who: who)
        let isReleased = try await write { session in
            try session.transaction { try unit.releaseOne(find, in: $0, locking: $1) }
        }
        guard isReleased != nil else { throw Problem(.tokenNotFound, "The installation has no such token.") }
    }

    /// Releases all quarantined tokens of the app and environment, in small transactions. After an interruption the
    /// same call continues.
    ///
    /// Each page locks the burst guards, and turns none on or off. A report between two pages finds no more quarantines in the
    /// window than before the first page, so it trips no guard that it would not have tripped before. Its quarantine is later than
    /// the last one to release, so it stays, and the pages come to an end.
    ///
    /// - Returns: the number of released tokens.
    package func releaseAll(in scope: Scope, by who: UTF8Text) async throws -> Int {
        let unit = ReleaseUnit(scope: scope, who: who)
        guard let last = try await write({ try unit.readLastQuarantine($0) }) else { return 0 }
        var total = 0
        while true {
            let released = try await write { session in
                try session.transaction { try unit.releasePage(until: last, in: $0, locking: $1) }
            }
            total += released
            guard released == ReleaseUnit.pageSize else { return total }
        }
    }
}

/// The unit of work of releases from quarantine. While the burst guards are locked, no report quarantines and no other session
/// releases.
struct ReleaseUnit {
    let scope: Scope
    let who: UTF8Text

    /// Values per transaction, kept low because reports wait for it.
    static let pageSize = 500

    /// - Parameter find: gives a row if the record has a token, with nulls if the token is not quarantined.
    /// - Returns: whether the value was quarantined; nil if there is no such token.
    fileprivate func releaseOne(
        _ find: SQL,
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> Bool? {
        let found = try transaction.pipeline([Query.lockGuards(["scope": scope.id]), find])[1]
        guard !found.isEmpty else { return nil }
        let values = try found.decode { row in
            try (row["token_digest"] as [UInt8]?).map { _ in try TokenValue(row: row) }
        }
        let released = try release(values.compactMap(\.self), in: transaction, locking: additionalIDs)
        return released > 0
    }

    /// The time of the last quarantine; nil if nothing is quarantined.
    fileprivate func readLastQuarantine(_ session: borrowing PostgresSession) throws -> Timestamp? {
        let read = Query.readLastQuarantine(["scope": scope.id])
        let times = try session.pipeline([Query.lockGuards(["scope": scope.id]), read])[1]
        return try times.decode { try $0["quarantined_at"] as Timestamp? }.first ?? nil
    }

    /// Releases the first values that were quarantined no later than a time; released values are not found again.
    fileprivate func releasePage(
        until last: Timestamp,
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> Int {
        let find = Query("feedback.find-quarantined-page")(["scope": scope.id, "last": last, "limit": Self.pageSize])
        let found = try transaction.pipeline([Query.lockGuards(["scope": scope.id]), find])[1]
        return try release(try found.decode(TokenValue.self), in: transaction, locking: additionalIDs)
    }

    private func release(
        _ found: [TokenValue],
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> Int {
        guard !found.isEmpty else { return 0 }
        var locks = ValueLocks(owners: additionalIDs)
        locks.add(found)
        var rows = try locks.lockRows(in: scope, transaction)
        let released = found.filter { rows.release($0.digest, by: who) }.count
        try rows.write(in: scope, transaction, isLast: true)
        return released
    }
}

extension Query {
    fileprivate static let readLastQuarantine: Query = "feedback.read-last-quarantine"
}
