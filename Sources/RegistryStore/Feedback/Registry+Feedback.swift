import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

package struct FeedbackOutcome: Sendable, Hashable {
    package let results: [FeedbackResult]
    package let trippedKinds: [String]
}

extension Registry {
    package func apply(_ reports: [FeedbackReport], in scope: Scope, by who: UTF8Text) async throws -> FeedbackOutcome {
        let failures = reports.failedLeases
        if !failures.isEmpty {
            try await transact { transaction, _ in
                try scope.end(Array(failures.keys), .startFailed, by: who, in: transaction) { lease, now in
                    lease.fail(failures[lease.id] ?? "", at: now)
                }
            }
        }
        let tokenReports = reports.map { TokenReport($0, digest: TokenDigest($0.token)) }
        return try await write { session in
            let (decisions, trippedKinds) = try session.transaction { transaction, additionalIDs in
                var locks = RowLocks(scope: scope, ids: additionalIDs, digests: Set(tokenReports.map(\.digest)))
                locks.areForDeliveries = tokenReports.allSatisfy { $0.meaning == .delivered || $0.meaning == .none }
                let known = try locks.findValues(of: tokenReports, transaction)
                var (guards, rows) = (known, try locks.lockValues(transaction))
                let outcome = rows.apply(tokenReports, guards: &guards, by: who)
                try rows.write(in: scope, transaction, and: scope.update(guards.filter { !known.contains($0) }))
                return outcome
            }
            let others = zip(tokenReports, decisions).filter { $1.mentionsElsewhere }.map(\.0.digest)
            let elsewhere = try scope.other.findKnown(others, session)
            let results = zip(tokenReports, decisions).map { report, decision in
                decision.result(isKnownIn: elsewhere.contains(report.digest) ? scope.environment.other : nil)
            }
            return FeedbackOutcome(results: results, trippedKinds: trippedKinds)
        }
    }

    package func quarantineGuards(of app: App) async throws -> [QuarantineGuard] {
        try await read { session in
            try session.run("feedback.list-guards", ["app": app.id, "window": BurstGuard.window]).decode { row in
                QuarantineGuard(
                    environment: try row["environment"],
                    kind: try row["kind"],
                    trippedAt: try row["tripped_at"]
                )
            }
        }
    }
}

extension [FeedbackReport] {
    /// The leases of failed start pushes, each with APNs's first reason. A success does not free a lease, because the
    /// activity's token has not arrived yet.
    fileprivate var failedLeases: [LeaseID: UTF8Text] {
        var failures: [LeaseID: UTF8Text] = [:]
        for report in self where report.meaning != .delivered {
            guard let lease = report.leaseID, failures[lease] == nil else { continue }
            failures[lease] = "\(report.status)\(report.reason.map { " \($0)" } ?? "")"
        }
        return failures
    }
}

extension BurstGuard: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            kind: try row["kind"],
            trippedAt: try row["tripped_at"],
            reportedAt: try row["reported_at"],
            recent: try row["recent"],
            current: try row["current"]
        )
    }
}

extension Scope {
    fileprivate func update(_ guards: [BurstGuard]) -> [SQL] {
        guard !guards.isEmpty else { return [] }
        return [
            Query("feedback.update-guards")([
                "kinds": guards.map(\.kind),
                "tripped_at": guards.map(\.trippedAt),
                "reported_at": guards.map(\.reportedAt),
                "scope": id,
            ])
        ]
    }

    /// Runs outside the transaction, because on Citus values of another scope may be on another node.
    fileprivate func findKnown(
        _ digests: [TokenDigest],
        _ session: borrowing PostgresSession
    ) throws -> Set<TokenDigest> {
        guard !digests.isEmpty else { return [] }
        let found = try session.run("feedback.find-values", ["scope": id, "digests": Array(Set(digests))])
        return Set(try found.decode(TokenValue.self).filter(\.isKnown).map(\.digest))
    }

    /// The scope and the names of its kinds of tokens, each of which has a guard.
    var kinds: QueryValues { ["scope": id, "kinds": app.settings.allTokenKinds.map(\.name)] }
}

/// Locks for work on token values: also the activities that own the values, and the slots that have them.
extension RowLocks {
    /// Finds the values and, if any report is suspect, locks the burst guards. If a guard may trip, also finds the
    /// values that it would release.
    fileprivate mutating func findValues(
        of reports: [TokenReport],
        _ transaction: borrowing PostgresTransaction
    ) throws -> [BurstGuard] {
        let find = Query("feedback.find-values")(["scope": scope.id, "digests": Array(digests)])
        let suspects = Set(reports.filter { $0.meaning == .suspect }.map(\.digest)).count
        guard suspects > 0 else {
            add(try transaction.execute(find).decode(TokenValue.self))
            return []
        }
        let read = Query("feedback.read-guards")([
            "scope": scope.id, "suspects": suspects, "most_current": BurstGuard.mostCurrent,
            "window": BurstGuard.window,
        ])
        let found = try transaction.pipeline([Query("feedback.lock-guards")(scope.kinds), read, find])
        add(try found[2].decode(TokenValue.self))
        let guards = try found[1].decode(BurstGuard.self)
        let kinds = guards.filter { $0.isExceeded(by: suspects) }.map(\.kind)
        if !kinds.isEmpty {
            let recent: QueryValues = ["scope": scope.id, "kinds": kinds, "window": BurstGuard.window]
            add(try transaction.run("feedback.find-recent", recent).decode(TokenValue.self))
        }
        return guards
    }

    mutating func add(_ found: [TokenValue]) {
        for value in found {
            digests.insert(value.digest)
            if let owner = value.owner { ids.insert(owner.activityID) }
            if value.isOfInstallations { sharedDigests.insert(value.digest) }
        }
    }

    /// - Throws: ``MissingLocks`` if a value's owner changed between search and lock; `unknownApp`.
    func lockValues(_ transaction: borrowing PostgresTransaction) throws -> LockedRows {
        let rows = try lockRows(transaction)
        let values = rows.values.values.map(\.value)
        let missing = Set(values.compactMap(\.owner?.activityID)).subtracting(ids)
        let isComplete = values.allSatisfy { !$0.isOfInstallations || sharedDigests.contains($0.digest) }
        guard missing.isEmpty, isComplete else { throw MissingLocks(ids: missing) }
        return rows
    }
}

package struct QuarantineGuard: Sendable, Hashable {
    package let environment: APNSEnvironment
    package let kind: String
    package let trippedAt: Date
}
