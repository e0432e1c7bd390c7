import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Applies APNs's answers to pushes as if in sequence.
    ///
    /// Equal reports of one token share a result. Different reports of one token follow one another in rounds, at most
    /// ``mostReportsOfToken``; the rest are not taken.
    ///
    /// - Returns: a result for each, in the order given, and the guards that they tripped.
    package func apply(
        _ reports: [FeedbackReport],
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> FeedbackOutcome {
        let rounds = FeedbackRounds(reports, most: Self.mostReportsOfToken)
        let failures = reports.failedLeases
        // Each is a transaction and a unit of work: one that Postgres ends for a deadlock is retried alone.
        if !failures.isEmpty {
            let fail = LeaseStatements(scope: scope, who: who).fail(failures)
            try await write { _ = try $0.pipeline(fail) }
        }
        var outcome = FeedbackOutcome()
        var results: [FeedbackStatement: FeedbackResult] = [:]
        for round in rounds.rounds {
            let statements = FeedbackStatements(batch: FeedbackBatch(reports: round), scope: scope, who: who)
            let (found, trippedKinds) = try await write { session in
                let (answer, trippedKinds) = try statements.apply(in: session)
                return (try statements.results(answer, session), trippedKinds)
            }
            outcome.trippedKinds += trippedKinds
            for (statement, result) in zip(round, found) { results[statement] = result }
        }
        outcome.results = rounds.statements.map { results[$0].map { .success($0) } ?? .failure(.tooManyReports) }
        return outcome
    }

    /// How many different things one batch may say of one token. A sender has one answer of APNs to each push, and pushes
    /// to one token more than a few times a batch are repetitions, which say the same.
    package static let mostReportsOfToken = 8

    package func quarantineGuards(of app: App) async throws -> [QuarantineGuard] {
        try await read { session in
            try session.execute(QuarantineStatements.guardsThatAreOn(of: app)).rows.compactMap { row in
                let (environment, kind, trippedAt) = try row.decode(String.self, String.self, Date.self)
                return APNSEnvironment(rawValue: environment).map {
                    QuarantineGuard(environment: $0, kind: kind, trippedAt: trippedAt)
                }
            }
        }
    }

    /// - Returns: false if it was not quarantined.
    /// - Throws: `activityNotFound`.
    package func release(_ id: ActivityID, in scope: Scope, by who: UTF8Text) async throws -> Bool {
        let statements = QuarantineStatements(scope: scope, who: who).release(id)
        let (isKnown, isReleased) = try await write { session in
            let results = try session.pipeline([ResolveStatements.activity(id, in: scope)] + statements)
            return (!results[0].isEmpty, !results[statements.count].isEmpty)
        }
        guard isKnown else { throw Problem(.activityNotFound, "The activity is not known here.") }
        return isReleased
    }

    /// Releases all quarantined tokens of the app and environment, in small transactions. After an interruption the
    /// same call continues. Reports that arrive meanwhile are quarantined or guarded as if before or after the whole.
    ///
    /// - Returns: the number of released tokens.
    package func releaseAll(in scope: Scope, by who: UTF8Text) async throws -> Int {
        let statements = QuarantineStatements(scope: scope, who: who)
        let begin = statements.releaseAll
        let last = try await write { try $0.pipeline(begin)[begin.count - 1][0].decode(Date?.self) }
        guard let last else { return 0 }
        var total = 0
        while true {
            let (found, released) = try await write { session in
                try Self.releasePage(statements, until: last, session)
            }
            total += released
            guard found == QuarantineStatements.pageSize else { return total }
        }
    }

    /// - Returns: the number of values found, and the number of those released.
    private static func releasePage(
        _ statements: QuarantineStatements,
        until last: Date,
        _ session: borrowing PostgresSession
    ) throws -> (found: Int, released: Int) {
        try session.transaction { transaction in
            let first = [FeedbackStatements.shortIdleness, statements.lockGuards, statements.quarantined(until: last)]
            let digests = try transaction.pipeline(first)[2].decode([UInt8].self)
            let release = digests.isEmpty ? [] : statements.releaseLocked(digests)
            let released = try transaction.pipeline(release, finishing: true).last
            return (digests.count, released?.count ?? 0)
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

extension FeedbackStatements {
    /// Runs in one transaction.
    ///
    /// - Returns: a row for each report, as in ``effects(at:)``, and the kinds whose burst guard they tripped.
    fileprivate func apply(in session: borrowing PostgresSession) throws -> (PostgresResult, trippedKinds: [String]) {
        try session.transaction { transaction in
            let guards = batch.suspects ? [quarantine.lockGuards] : []
            var places = try takeLocks(in: transaction, after: [Self.shortIdleness] + guards)
            var kinds: [String] = []
            if batch.suspects {
                kinds = try transaction.execute(guarding(at: places)).rows.compactMap { row in
                    let (kind, hasTripped) = try row.decode(String.self, Bool?.self)
                    return hasTripped == true ? kind : nil
                }
            }
            if !kinds.isEmpty {
                // Released rows are rewritten, and get new places.
                places = try takeLocks(in: transaction, after: quarantine.releaseBurst(of: kinds))
            }
            let effects = effects(at: places)
            return (try transaction.pipeline(effects, finishing: true)[effects.count - 1], kinds)
        }
    }

    private func takeLocks(
        in transaction: borrowing PostgresTransaction,
        after first: [SQL]
    ) throws -> FeedbackPlaces {
        let locks = (batch.accuses ? [lockActivities] : []) + [lockValues]
        let results = try transaction.pipeline(first + locks)
        var places = FeedbackPlaces()
        try places.add(values: results[results.count - 1])
        guard batch.accuses else { return places }
        try places.add(activities: results[first.count])
        let missing = places.missingActivities
        // The values belong to these activities now. If another session holds one of them and waits for such a value,
        // Postgres ends one of the two, which is then retried.
        if !missing.isEmpty { try places.add(activities: transaction.execute(lock(missing))) }
        return places
    }
}

extension FeedbackStatements {
    /// - Parameter answer: a row for each report, as in ``effects(at:)``.
    fileprivate func results(
        _ answer: PostgresResult,
        _ session: borrowing PostgresSession
    ) throws -> [FeedbackResult] {
        let found = try answer.decode(String.self, String?.self)
        let doubtful = zip(batch.reports, found).filter { $0.report.verdict == .suspect || $1.1 == nil }
            .map { Array($0.0.digest) }
        let known: Set<[UInt8]> =
            doubtful.isEmpty ? [] : Set(try session.execute(knownElsewhere(doubtful)).decode([UInt8].self))
        return try zip(batch.reports, found).map { statement, row in
            guard let action = FeedbackAction(rawValue: row.0) else { throw UnreadableRow(detail: "an unknown action") }
            let elsewhere = known.contains(Array(statement.digest)) ? scope.environment.other : nil
            return FeedbackResult(action, kind: row.1, to: statement.report, isKnownIn: elsewhere)
        }
    }
}

extension FeedbackResult {
    fileprivate init(
        _ action: FeedbackAction,
        kind: String?,
        to report: FeedbackReport,
        isKnownIn elsewhere: APNSEnvironment?
    ) {
        let place = elsewhere?.rawValue
        let hint = report.verdict == .suspect ? place.map { " The value is registered in \($0), too." } : nil
        let unknown = action == .unknown || action == .retired ? place.map { " It is known in \($0)." } : nil
        self.init(action: action, detail: Self.detail(action, kind) + (unknown ?? hint ?? ""))
    }

    private static func detail(_ action: FeedbackAction, _ kind: String?) -> String {
        let token = kind.map { "The \($0) token" } ?? "The value"
        return switch action {
        case .dropped: "\(token) is dead and is no longer handed out."
        case .keptNewer: "\(token) is kept: a client claimed it later than APNs said this."
        case .quarantined: "\(token) is not handed out until a client confirms it or an admin releases it."
        case .guarded: "\(token) is kept: so many were reported at once that the sender's topic or key is likely wrong."
        case .kept: "\(token) is kept: the status and reason say nothing against it."
        case .delivered: "\(token) works."
        case .retired: "The value was a current token and is none now; resolve the alias anew."
        case .unknown: "The value is not known here."
        }
    }
}
