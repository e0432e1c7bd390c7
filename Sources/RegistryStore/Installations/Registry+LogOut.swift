import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Logs an installation out: its start and device tokens, aliases and metadata are removed and its activities end,
    /// as far as they were observed by then. Later observations stay. An unknown installation leaves a tombstone.
    ///
    /// The first thousand activities end in the log-out's own transaction, the others a thousand per transaction after
    /// it. Once the log-out is stored, none of them is handed out.
    ///
    /// - Parameter claimant: a client names this same installation.
    /// - Throws: `clockSkew`, `notYours`.
    package func logOut(
        _ installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let rows = InstallationStatements(installation: installation, scope: scope, claimant: claimant)
        let statements = LogOutStatements(rows: rows, who: who)
        guard var page = try await begin(statements, observedAt) else { return }
        while let key = page.next {
            page.next = try await write { [page] session in
                try session.transaction { transaction, _ in
                    try Self.endPage(statements, at: page.time, after: key, transaction)
                }
            }
        }
    }

    private static let logOutPageSize = 1000

    /// The time of the log-out, and the key of the last activity that it ended so far; nil if there are no more.
    private struct LogOutPage: Sendable {
        let time: Timestamp
        var next: Int64?
    }

    private func begin(_ statements: LogOutStatements, _ observedAt: Date?) async throws -> LogOutPage? {
        let rows = statements.rows
        return try await write { session in
            try session.transaction { transaction, _ in
                let locked = try transaction.pipeline([
                    rows.lock(observedAt: observedAt), statements.time(observedAt),
                    rows.refusalFacts(observedAt: observedAt),
                ])
                guard !locked[0].isEmpty else {
                    let refusal = try Refusal(of: observedAt, locked[2][0])
                    if case .erased = refusal { return nil }
                    throw refusal.problem
                }
                let time = try locked[1][0].decode(Timestamp.self)
                _ = try transaction.pipeline(statements.removal(at: time.date))
                return LogOutPage(time: time, next: try Self.endPage(statements, at: time, after: 0, transaction))
            }
        }
    }

    /// Ends a page of the activities that had started by the log-out, and finishes the transaction. An earlier start may become
    /// known later: the view of deliverable activities applies the same rule.
    ///
    /// - Returns: the key of the last one; nil if the page was not full.
    private static func endPage(
        _ statements: LogOutStatements,
        at time: Timestamp,
        after key: Int64,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Int64? {
        let (scope, rows) = (statements.rows.scope, statements.rows)
        let page = Query.runningPage([
            "scope": scope.id,
            "installation": rows.installation.bytes,
            "started_by": time,
            "after": key,
            "limit": logOutPageSize,
        ])
        let found = try transaction.execute(page).decode(ActivityID.self, Int64.self)
        guard !found.isEmpty else { return nil }
        let ids = found.map(\.0)
        var locked = try RowLocks(ids: Set(ids)).take(in: scope, transaction)
        // A log-out without a time may be that of a fast clock's records; its time was checked with the installation.
        let end = EndUnit(
            scope: scope,
            reason: .ended,
            observedAt: min(time, locked.now),
            who: statements.who,
            claimant: .any
        )
        _ = try end.apply(to: ids, &locked, transaction)
        try locked.write(in: scope, transaction, isLast: true)
        return found.count < logOutPageSize ? nil : found.last?.1
    }
}

extension Query {
    fileprivate static let runningPage: Query = "installations.read-running-page"
}

/// The statements of a log-out, between the installation's lock and the end of its activities.
struct LogOutStatements {
    let rows: InstallationStatements
    let who: UTF8Text

    private var scope: Scope { rows.scope }

    /// A log-out without a time is later than all records, also those observed by a fast clock.
    func time(_ observedAt: Date?) -> SQL {
        """
        SELECT coalesce(\(observedAt), greatest(clock_timestamp(), i.aliases_observed_at, i.metadata_observed_at,
            i.subject_observed_at, (SELECT max(r.observed_at) FROM installation_tokens r WHERE \(sql: rows.isOf("r")))))
        FROM installations i WHERE \(sql: rows.isOf("i"))
        """
    }

    /// Removes tokens, aliases and metadata observed by then, and stores the time for late requests.
    func removal(at time: Date) -> [SQL] {
        [event(at: time), leaseRemoval(at: time), memory(at: time), tokenRemoval(at: time)] + rows.aliasRows
    }

    /// Runs before the time is stored: a repeated or late log-out removes no lease of the next user.
    private func leaseRemoval(at time: Date) -> SQL {
        LeaseStatements.deletion(of: rows, where: "coalesce(i.removed_at, '-infinity') < \(time)")
    }

    private func memory(at time: Date) -> SQL {
        """
        UPDATE installations i SET
            -- The next user begins anew: it has no owner.
            subject = CASE WHEN i.subject_observed_at > \(time) THEN i.subject END,
            subject_observed_at = CASE WHEN i.subject_observed_at > \(time) THEN i.subject_observed_at END,
            removed_at = greatest(i.removed_at, \(time)),
            full_state_at = greatest(i.full_state_at, \(time)),
            aliases = CASE WHEN i.aliases_observed_at > \(time) THEN i.aliases END,
            aliases_observed_at = CASE WHEN i.aliases_observed_at > \(time) THEN i.aliases_observed_at END,
            metadata = CASE WHEN i.metadata_observed_at > \(time) THEN i.metadata END,
            metadata_observed_at = CASE WHEN i.metadata_observed_at > \(time) THEN i.metadata_observed_at END
        WHERE \(sql: rows.isOf("i"))
        """
    }

    private func tokenRemoval(at time: Date) -> SQL {
        """
        UPDATE installation_tokens r SET token = NULL, outcome = 'ended', touched_at = statement_timestamp()
        WHERE \(sql: rows.isOf("r")) AND r.token IS NOT NULL AND r.observed_at <= \(time)
        """
    }

    /// Runs first because it reports the previous state. A repeated log-out changes nothing.
    private func event(at time: Date) -> SQL {
        EventStatements.insertion(
            """
            SELECT 'logged-out' AS type, \(unescaped: EventStatements.columns(ofInstallation: "i"))
            FROM installations i
            WHERE \(sql: rows.isOf("i")) AND coalesce(i.removed_at, '-infinity') < \(time)
            UNION ALL
            SELECT 'deleted', \(unescaped: EventStatements.columns(ofToken: "r", of: "i"))
            FROM installation_tokens r \(sql: TokenSlotRows.joinInstallation(of: "r", in: scope))
            WHERE \(sql: rows.isOf("r")) AND r.token IS NOT NULL AND r.observed_at <= \(time)
            """,
            by: who,
            in: scope
        )
    }
}
