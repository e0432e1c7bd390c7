import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// - Returns: false if it was not quarantined.
    /// - Throws: `activityNotFound`.
    package func release(_ id: ActivityID, in scope: Scope, by who: UTF8Text) async throws -> Bool {
        let find = Query("feedback.find-value-of-activity")(["scope": scope.id, "id": id])
        let unit = ReleaseUnit(scope: scope, who: who)
        let isReleased = try await transact { try unit.releaseOne(find, in: $0, locking: $1) }
        guard let isReleased else { throw Problem(.activityNotFound, "The activity is not known here.") }
        return isReleased
    }

    /// Releases an installation's token and all tokens with its value from quarantine. Has no effect on a token that
    /// is not quarantined.
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
        let isReleased = try await transact { try unit.releaseOne(find, in: $0, locking: $1) }
        guard isReleased != nil else { throw Problem(.tokenNotFound, "The installation has no such token.") }
    }

    /// Runs in small transactions; repeat it after an interruption.
    ///
    /// Each page locks the burst guards but does not switch them. Between two pages, the window never contains more
    /// quarantines than before the first page, so the release trips no guard. A quarantine made between two pages is
    /// later than `last`, so the number of pages is limited.
    package func releaseAll(in scope: Scope, by who: UTF8Text) async throws -> Int {
        let unit = ReleaseUnit(scope: scope, who: who)
        guard let last = try await write({ try unit.readLastQuarantine($0) }) else { return 0 }
        var total = 0
        while true {
            let released = try await transact { try unit.releasePage(until: last, in: $0, locking: $1) }
            total += released
            guard released == ReleaseUnit.pageSize else { return total }
        }
    }
}

/// A release from quarantine. While it locks the burst guards, reports do not quarantine and other sessions do not
/// release.
struct ReleaseUnit {
    let scope: Scope
    let who: UTF8Text

    /// Values per transaction, kept low because reports wait.
    static let pageSize = 500

    /// - Parameter find: returns a row if the record has a token, with nulls if the token is not quarantined.
    /// - Returns: whether the value was quarantined; nil without a token.
    fileprivate func releaseOne(
        _ find: SQL,
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> Bool? {
        let found = try transaction.pipeline([Query("feedback.lock-guards")(scope.kinds), find])[1]
        guard !found.isEmpty else { return nil }
        let values = try found.decode { row in
            try (row["token_digest"] as TokenDigest?).map { _ in try TokenValue(row: row) }
        }
        let released = try release(values.compactMap(\.self), in: transaction, locking: additionalIDs)
        return released > 0
    }

    fileprivate func readLastQuarantine(_ session: borrowing PostgresSession) throws -> Timestamp? {
        let read = Query("feedback.read-last-quarantine")(scope.kinds)
        let times = try session.pipeline([Query("feedback.lock-guards")(scope.kinds), read])[1]
        return try times.decode { try $0["quarantined_at"] as Timestamp? }.first ?? nil
    }

    fileprivate func releasePage(
        until last: Timestamp,
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> Int {
        let find = Query("feedback.find-quarantined-page")(scope.kinds + ["last": last, "limit": Self.pageSize])
        let found = try transaction.pipeline([Query("feedback.lock-guards")(scope.kinds), find])[1]
        return try release(try found.decode(TokenValue.self), in: transaction, locking: additionalIDs)
    }

    private func release(
        _ found: [TokenValue],
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> Int {
        guard !found.isEmpty else { return 0 }
        var locks = RowLocks(ids: additionalIDs)
        locks.add(found)
        var rows = try locks.lockValues(in: scope, transaction)
        let released = found.filter { rows.release($0.digest, by: who) }.count
        try rows.write(in: scope, transaction, isLast: true)
        return released
    }
}
