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
            let fail = LeaseStatements(scope: scope, who: who).fail(failures)
            try await write { _ = try $0.pipeline(fail) }
        }
        let unit = FeedbackUnit(
            reports: reports.map { TokenReport($0, digest: TokenDigest($0.token)) },
            scope: scope,
            who: who
        )
        return try await write { session in
            let (decisions, trippedKinds) = try session.transaction { try unit.run(in: $0, locking: $1) }
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
    fileprivate var failedLeases: [(lease: LeaseID, reason: UTF8Text)] {
        var known: Set<LeaseID> = []
        return compactMap { report in
            guard let lease = report.leaseID, report.verdict != .delivered, known.insert(lease).inserted else {
                return nil
            }
            return (lease, "\(report.status)\(report.reason.map { " \($0)" } ?? "")")
        }
    }
}
