import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// - Returns: false if it was not quarantined.
    package func release(_ id: ActivityID, in scope: Scope, by who: UTF8Text) async throws -> Bool {
        let find = Query("feedback.find-value-of-activity")(["scope": scope.id, "id": id])
        guard let isReleased = try await releaseOne(find, in: scope, by: who) else {
            throw Problem(.activityNotFound, "The activity is not known here.")
        }
        return isReleased
    }

    /// Releases an installation's token and all tokens with its value from quarantine. Has no effect on a token that
    /// is not quarantined.
    package func releaseToken(
        in slot: TokenSlot,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text
    ) async throws {
        let find = Query("feedback.find-value-of-slot")([
            "scope": scope.id, "installation": installation, "kind": slot.kind.name, "type": slot.typeName,
        ])
        guard try await releaseOne(find, in: scope, by: who) != nil else {
            throw Problem(.tokenNotFound, "The installation has no such token.")
        }
    }

    /// Values per transaction, kept low because reports wait.
    static let releasePageSize = 500

    /// Runs in small transactions; repeat it after an interruption.
    ///
    /// Each page locks the burst guards but does not switch them. Between two pages, the window never contains more
    /// quarantines than before the first page, so the release trips no guard. A quarantine made between two pages is
    /// later than `last`, so the number of pages is limited.
    package func releaseAll(in scope: Scope, by who: UTF8Text) async throws -> Int {
        let readLast = [scope.lockGuards, Query("feedback.read-last-quarantine")(scope.kinds)]
        let last = try await write { try $0.pipeline(readLast)[1].decode { try $0["quarantined_at"] as Timestamp? }[0] }
        guard let last else { return 0 }
        let find = Query("feedback.find-quarantined-page")(scope.kinds + ["last": last, "limit": Self.releasePageSize])
        var total = 0
        while true {
            let released = try await transact { transaction, additionalIDs in
                let found = try transaction.pipeline([scope.lockGuards, find])[1].decode(TokenValue.self)
                return try scope.release(found, by: who, in: transaction, locking: additionalIDs)
            }
            total += released
            guard released == Self.releasePageSize else { return total }
        }
    }

    /// - Parameter find: returns a row if the record has a token, with nulls if the token is not quarantined.
    /// - Returns: whether the value was quarantined; nil without a token.
    private func releaseOne(_ find: SQL, in scope: Scope, by who: UTF8Text) async throws -> Bool? {
        try await transact { transaction, additionalIDs in
            let found = try transaction.pipeline([scope.lockGuards, find])[1]
            guard !found.isEmpty else { return nil }
            let values = try found.decode { row in
                try (row["token_digest"] as TokenDigest?).map { _ in try TokenValue(row: row) }
            }
            return try scope.release(values.compactMap(\.self), by: who, in: transaction, locking: additionalIDs) > 0
        }
    }
}

extension Scope {
    /// While a release holds this lock, reports do not quarantine and other sessions do not release.
    fileprivate var lockGuards: SQL { Query("feedback.lock-guards")(kinds) }

    fileprivate func release(
        _ found: [TokenValue],
        by who: UTF8Text,
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> Int {
        guard !found.isEmpty else { return 0 }
        var locks = RowLocks(scope: self, ids: additionalIDs)
        locks.add(found)
        var rows = try locks.lockValues(transaction)
        let released = found.filter { rows.release($0.digest, by: who) }.count
        try rows.write(in: self, transaction)
        return released
    }
}
