import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Applies the list of an installation's running activities as one transaction (R9).
    ///
    /// The list counts no matter who is signed in: a signed-in user takes the installation over. Items about activities
    /// of others get `notYours`, do not count, and so these activities fall out if they are of this installation.
    ///
    /// Each activity and each token counts once, so that all items are merged in one round.
    ///
    /// - Parameter claimant: a client names this same installation.
    /// - Throws: `clockSkew`, `invalidRequest` if the installation has more activities than ``mostRunningActivities``;
    ///   faults of items are in the answer.
    package func apply(
        _ state: FullState,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> FullStateAnswer {
        let statements = FullStateStatements(
            installation: installation,
            observedAt: state.observedAt,
            scope: scope,
            who: who
        )
        let state = state.withoutRepetitions
        return try await write { session in
            try session.transaction { transaction in
                try Self.lock(state, statements, claimant, transaction)
                let listed = state.firstItems
                let requests = listed.map { item in
                    RegistrationRequest(
                        id: item.activityID,
                        registration: item.observed(at: state.observedAt, by: installation),
                        who: who,
                        claimant: claimant,
                        scope: scope
                    )
                }
                let results = try RegistrationRequest.merge(requests, isDistributed: transaction.isDistributed) {
                    try transaction.pipeline($0)
                }
                guard !results.contains(where: \.isUnforeseen) else { throw UnforeseenRefusal() }
                let present = zip(listed, results).filter { !$1.isOfAnother }.map(\.0.activityID)
                let ended = try Self.dismiss(present, statements, transaction)
                return FullStateAnswer(results: state.results(of: listed, results), ended: ended)
            }
        }
    }

    /// The most activities that an installation may have and send full states: those that have not ended, expired ones
    /// of the last days among them. A phone runs a handful; a full state looks at all of them under their locks.
    package static let mostRunningActivities = 10_000

    private static let tooManyActivities = Problem(
        .invalidRequest,
        """
        The installation has more than \(mostRunningActivities) activities of the last days that nobody ended, more than \
        any phone has, so a full state of it is not taken. End activities, and give each phone an installationId of its own.
        """
    )

    private static func lock(
        _ state: FullState,
        _ statements: FullStateStatements,
        _ claimant: Claimant,
        _ transaction: borrowing PostgresTransaction
    ) throws {
        let (installation, scope) = (statements.installation, statements.scope)
        let rows = InstallationStatements(installation: installation, scope: scope, claimant: claimant)
        let results = try transaction.pipeline(
            [
                rows.lock(observedAt: state.observedAt, registers: true),
                rows.refusalFacts(observedAt: state.observedAt, registers: true),
                statements.running(limit: mostRunningActivities + 1),
                statements.lock(
                    listed: state.firstItems.map(\.activityID),
                    values: state.digests,
                    limit: mostRunningActivities
                ),
            ] + (claimant.subject == nil ? [] : rows.aliasRows + rows.takeover(by: statements.who))
        )
        guard !results[0].isEmpty else {
            throw try Refusal(of: state.observedAt, results[1][0]).problem
        }
        guard try results[2][0].decode(Int.self) <= mostRunningActivities else { throw tooManyActivities }
    }

    private static func dismiss(
        _ listed: [ActivityID],
        _ statements: FullStateStatements,
        _ transaction: borrowing PostgresTransaction
    ) throws -> [ActivityID] {
        let statements = [statements.remember, statements.dismissal(listed: listed), statements.event(listed: listed)]
        let dismissed = try transaction.pipeline(statements, finishing: true)[1]
        return try dismissed.decode(ActivityID.self).sorted()
    }
}

extension FullState {
    fileprivate var digests: [[UInt8]] { items.compactMap { $0.registration?.token.map { Array($0.digest) } } }

    fileprivate var firstItems: [Item] {
        var known: Set<ActivityID> = []
        return items.filter { known.insert($0.activityID).inserted }
    }

    /// One result for each item; a repeated activity already has its problem.
    fileprivate func results(
        of first: [Item],
        _ merged: [Result<RegistrationAnswer, Problem>]
    ) -> [FullStateAnswer.ItemResult] {
        let results = Dictionary(uniqueKeysWithValues: zip(first.map(\.activityID), merged))
        return items.compactMap { item in results[item.activityID].map(item.result) }
    }
}

extension Result<RegistrationAnswer, Problem> {
    fileprivate var isOfAnother: Bool {
        guard case .failure(let problem) = self else { return false }
        return problem.code == .notYours
    }
}

extension FullState.Item {
    /// The activity ran at the time of the full state; a readable item adds its registration.
    fileprivate func observed(at time: Date, by installation: InstallationHash) -> ActivityRegistration {
        var registration = registration ?? ActivityRegistration(token: nil)
        registration.observedAt = time
        registration.installation = installation
        return registration
    }

    /// The item's own fault precedes the result of its bare sign of life.
    fileprivate func result(_ merged: Result<RegistrationAnswer, Problem>) -> FullStateAnswer.ItemResult {
        let result = problem.map { .failure($0) } ?? merged.map(\.outcome)
        return FullStateAnswer.ItemResult(activityID: activityID, result: result)
    }
}

/// The statements of a full state (R9) around its registrations: locks before, dismissals after.
struct FullStateStatements {
    let installation: InstallationHash
    let observedAt: Date
    let scope: Scope
    let who: UTF8Text

    var remember: SQL {
        """
        UPDATE installations i SET previous_full_state_at = i.full_state_at,
            full_state_at = greatest(i.full_state_at, \(observedAt))
        WHERE \(sql: scope.contains("i"))
            AND i.installation_hash = \(installation.bytes)
        """
    }

    /// The number of the installation's activities that have not ended, counted up to a limit.
    func running(limit: Int) -> SQL {
        "SELECT count(*) FROM (\(sql: runningIDs(limit: limit))) AS counted"
    }

    private func runningIDs(limit: Int) -> SQL {
        """
        SELECT a.activity_id FROM activities a
        WHERE \(sql: scope.contains("a"))
            AND a.installation_hash = \(installation.bytes) AND a.ended_at IS NULL LIMIT \(limit)
        """
    }

    /// Locks all rows of the full state in the order of ids, as registrations do: also the current holders of the
    /// tokens.
    ///
    /// - Parameters:
    ///   - digests: those of the tokens.
    ///   - limit: of the installation's activities; with more, the full state is refused.
    func lock(listed ids: [ActivityID], values digests: [[UInt8]], limit: Int) -> SQL {
        """
        SELECT FROM activities a
        WHERE \(sql: scope.contains("a"))
            -- One list, for the index to be asked by: by several the planner may rather look through all of the app.
            AND a.activity_id = ANY(\(ids) || ARRAY(\(sql: runningIDs(limit: limit))) || ARRAY(
                SELECT t.activity_id FROM token_values t
                WHERE \(sql: scope.contains("t"))
                    AND t.token_digest = ANY(\(digests))
            ))
        ORDER BY a.activity_id FOR UPDATE
        """
    }

    /// Counts and reports the dismissals; that these activities are dismissed follows from the times alone.
    func dismissal(listed ids: [ActivityID]) -> SQL {
        """
        UPDATE activities a SET outcome = 'dismissed', revision = a.revision + 1, touched_at = statement_timestamp(),
            installation_full_state_at = i.full_state_at
        FROM installations i
        WHERE \(sql: scope.contains("i"))
            AND i.installation_hash = \(installation.bytes) AND i.full_state_at = \(observedAt)
            AND \(sql: scope.contains("a"))
            AND a.installation_hash = i.installation_hash AND a.ended_at IS NULL AND a.expires_at > now()
            AND a.activity_id <> ALL(\(ids))
            AND a.last_observed_at < i.full_state_at
            AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)
        RETURNING a.activity_id
        """
    }

    func event(listed ids: [ActivityID]) -> SQL {
        EventStatements.insertion(
            """
            SELECT 'dismissed' AS type, \(unescaped: EventStatements.columns(of: "a"))
            FROM activities a JOIN installations i ON \(sql: scope.contains("i"))
                AND i.installation_hash = a.installation_hash
            WHERE \(sql: scope.contains("a"))
                AND a.installation_hash = \(installation.bytes) AND a.ended_at IS NULL AND a.outcome = 'dismissed'
                AND a.activity_id <> ALL(\(ids)) AND i.full_state_at = \(observedAt)
                AND a.last_observed_at < i.full_state_at
                AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)
            """,
            by: who,
            in: scope
        )
    }
}
