import PostgresDriver
import RegistryCore
import RegistryRules

package struct FeedbackOutcome: Sendable, Hashable {
    package let results: [FeedbackResult]
    package let trippedKinds: [String]
}

extension Registry {
    /// Applies reports in order (R8).
    package func apply(
        _ reports: [FeedbackReport],
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> FeedbackOutcome {
        let failures = reports.failedLeases
        if !failures.isEmpty {
            let unit = LeaseUnit(scope: scope, who: who)
            try await transact { transaction, _ in try unit.fail(failures, in: transaction) }
        }
        let tokenReports = reports.map { TokenReport($0, digest: TokenDigest($0.token)) }
        let unit = FeedbackUnit(reports: tokenReports, scope: scope, who: who)
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
