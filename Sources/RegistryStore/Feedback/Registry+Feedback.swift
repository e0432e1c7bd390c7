import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Applies APNs's answers to pushes in their order (R8).
    ///
    /// - Returns: a result for each, and the guards that they tripped.
    package func apply(
        _ reports: [FeedbackReport],
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> FeedbackOutcome {
        let failures = reports.failedLeases
        // Each is a transaction and a unit of work: one that Postgres ends for a deadlock is retried alone.
        if !failures.isEmpty {
            let unit = LeaseUnit(scope: scope, who: who)
            try await write { session in
                try session.transaction { transaction, _ in try unit.fail(failures, in: transaction) }
            }
        }
        let unit = FeedbackUnit(
            reports: reports.map { TokenReport($0, digest: TokenDigest($0.token)) },
            scope: scope,
            who: who
        )
        return try await write { session in
            let (decisions, trippedKinds) = try session.transaction { try unit.applyReports(in: $0, locking: $1) }
            let elsewhere = try unit.findKnownElsewhere(decisions, session)
            let results = zip(unit.reports, decisions).map { report, decision in
                decision.result(isKnownIn: elsewhere.contains(report.digest) ? scope.environment.other : nil)
            }
            return FeedbackOutcome(results: results, trippedKinds: trippedKinds)
        }
    }
}

extension [FeedbackReport] {
    /// The leases whose start pushes failed, each once, with APNs's first reason. A success frees none: the activity's
    /// token has yet to come.
    fileprivate var failedLeases: [LeaseID: UTF8Text] {
        var failures: [LeaseID: UTF8Text] = [:]
        for report in self where report.meaning != .delivered {
            guard let lease = report.leaseID, failures[lease] == nil else { continue }
            failures[lease] = "\(report.status)\(report.reason.map { " \($0)" } ?? "")"
        }
        return failures
    }
}
