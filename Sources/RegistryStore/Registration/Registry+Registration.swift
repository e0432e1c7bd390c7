import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Registers, rotates or refreshes an activity's token.
    ///
    /// - Parameter claimant: by what right; a client's registration counts as of its own subject and installation.
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`, `activityEnded`, `activityExpired`,
    ///   `clockSkew`, `notYours`.
    public func register(
        _ registration: ActivityRegistration,
        as id: ActivityID,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> RegistrationAnswer {
        try await withCheckedContinuation { continuation in
            register(registration, as: id, in: scope, by: who, claimant: claimant, on: nil) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    /// Registers as ``register(_:as:in:by:claimant:)`` does, for a caller who has no task that could wait.
    ///
    /// - Parameters:
    ///   - executor: runs what goes on between waits; nil is Swift's own pool.
    ///   - complete: told the answer or the problem, once, on any thread.
    public func register(
        _ registration: ActivityRegistration,
        as id: ActivityID,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant,
        on executor: (any TaskExecutor)?,
        complete: @escaping @Sendable (Result<RegistrationAnswer, Problem>) -> Void
    ) {
        let request = RegistrationRequest(
            id: id,
            registration: registration,
            who: who,
            claimant: claimant,
            scope: scope
        )
        registrations.submit(request, on: executor, complete: complete)
    }

    /// Merges registrations in the order given, through as few round trips as repeated activities and tokens allow.
    ///
    /// - Parameter run: runs statements in one round trip, inside of the transaction that all of them belong to when
    ///   there may be more than one round.
    /// - Returns: a result for each, in the order given.
    static func merge(
        _ registrations: [RegistrationRequest],
        in scope: Scope,
        _ run: ([SQL]) throws -> [PostgresResult]
    ) throws -> [Result<RegistrationAnswer, Problem>] {
        var results: [Int: Result<RegistrationAnswer, Problem>] = [:]
        var open = Array(registrations.indices)
        while !open.isEmpty {
            var selection = RegistrationSelection(isGuarded: registrations[open[0]].isGuarded)
            let round = open.filter { selection.add(registrations[$0]) }
            var batch = RegistrationBatch(isGuarded: selection.isGuarded)
            for index in round { batch.append(registrations[index]) }
            open.removeAll(where: Set(round).contains)
            let answers = try Self.merge(batch, in: scope, run)
            for index in round {
                results[index] = try answers.answer(to: registrations[index])
            }
        }
        return registrations.indices.compactMap { results[$0] }
    }

    private static func merge(
        _ batch: RegistrationBatch,
        in scope: Scope,
        _ run: ([SQL]) throws -> [PostgresResult]
    ) throws -> RegistrationAnswers {
        let statements = RegistrationStatements(batch: batch, scope: scope)
        let results = try run(statements.all)
        var answers = try RegistrationAnswers(
            merged: results[statements.mergeIndex],
            owners: results[statements.ownershipIndex]
        )
        if answers.merged.count < batch.activityIDs.count {
            answers.refusalFacts = try run([statements.refusalFacts])[0][0]
        }
        return answers
    }
}

/// A registration of one activity, with all that its statements need to know.
struct RegistrationRequest: Sendable {
    let id: ActivityID
    let registration: ActivityRegistration
    let who: UTF8Text
    /// By what right.
    let claimant: Claimant
    let scope: Scope

    /// A client's own, by its subject and installation; a backend's may be about any record.
    var isGuarded: Bool { claimant != .any }

    init(
        id: ActivityID,
        registration: ActivityRegistration,
        who: UTF8Text,
        claimant: Claimant,
        scope: Scope
    ) {
        self.id = id
        self.registration = claimant.sign(registration)
        self.who = who
        self.claimant = claimant
        self.scope = scope
    }

    /// Registrations of many callers share statements and a commit. Those of one activity or token follow one another.
    static func batcher(_ units: UnitsOfWork, queueTimeout: Duration) -> Batcher<
        RegistrationRequest, RegistrationAnswer
    > {
        Batcher(
            lanes: 2,
            largestBatch: 128,
            capacity: 10_000,
            queueTimeout: queueTimeout,
            measures: units.measures.batches[.registrations],
            select: { candidates in
                guard let first = candidates.first else { return [] }
                var selection = RegistrationSelection(isGuarded: first.isGuarded)
                return candidates.map { $0.scope.sharesStatements(with: first.scope) && selection.add($0) }
            },
            perform: { lane in
                try await units.serve(lane, .registrations, .ifSafe) { session, requests in
                    let results = try Registry.merge(requests, in: requests[0].scope) { try session.pipeline($0) }
                    if results.contains(where: \.isUnforeseen) { units.log(UnforeseenRefusal()) }
                    return results
                }
            }
        )
    }
}

extension Result<RegistrationAnswer, Problem> {
    /// The statements touched nothing, and nobody knows why.
    var isUnforeseen: Bool {
        guard case .failure(let problem) = self else { return false }
        return problem.code == .internalError
    }
}

/// The rows that the statements of a batch returned, and the answer that follows for each request.
struct RegistrationAnswers {
    var merged: [ActivityID: MergedActivity] = [:]
    private var tokens: [[UInt8]: ClaimedToken] = [:]
    /// Asked for when a request was refused whole.
    var refusalFacts: PostgresRow?

    init(merged: PostgresResult, owners: PostgresResult) throws {
        for row in merged.rows {
            let activity = try MergedActivity(row)
            self.merged[activity.activityID] = activity
        }
        for row in owners.rows {
            let token = try ClaimedToken(row)
            tokens[token.digest] = token
        }
    }

    func answer(to request: RegistrationRequest) throws -> Result<RegistrationAnswer, Problem> {
        guard let activity = merged[request.id] else { return .failure(try refusal(of: request)) }
        // One that a log-out ended before it became known is not written down as ended, but it is.
        guard activity.outcome != "refused", activity.answer.state != .ended else {
            return .failure(Problem(.activityEnded, "The activity has ended; an id is used once.", activity))
        }
        switch activity.outcome {
        case "expired": return .failure(.init(.activityExpired, "The activity's lifetime is over.", activity))
        case _ where request.registration.isTooLate(at: activity.serverTime, in: request.scope):
            let detail = "It was observed longer ago than an activity lives. Observe it anew, with the present time."
            return .failure(.init(.activityExpired, detail, activity))
        case "superseded":
            let detail = "A registration with a later observedAt is current."
            return .failure(Problem(.superseded, detail, activity, "rotated"))
        default:
            let token = request.registration.token == nil ? nil : activity.tokenDigest.flatMap { tokens[$0] }
            return accepted(activity, token)
        }
    }

    /// The activity's own row took the request; whether its token is handed out is for the value's row to say.
    private func accepted(_ activity: MergedActivity, _ token: ClaimedToken?) -> Result<RegistrationAnswer, Problem> {
        let outcome = RegistrationOutcome(rawValue: activity.outcome) ?? .refreshed
        guard let token else { return .success(RegistrationAnswer(outcome: outcome, activity: activity.answer)) }
        if let problem = token.problem(for: activity) { return .failure(problem) }
        guard token.isReactivated(by: activity) else {
            return .success(RegistrationAnswer(outcome: outcome, activity: activity.answer))
        }
        var answer = activity.answer
        answer.revision += 1
        return .success(RegistrationAnswer(outcome: .reactivated, activity: answer))
    }

    private func refusal(of request: RegistrationRequest) throws -> Problem {
        guard let refusalFacts else { return .unforeseen }
        do {
            return try Refusal(of: request.registration.observedAt, as: request.id, refusalFacts).problem
        } catch is UnforeseenRefusal {
            // Its neighbours in the batch are merged, and must not be merged again.
            return .unforeseen
        }
    }
}

extension ActivityRegistration {
    /// Whether it was observed longer ago than an activity lives, and no registry took it in before: it is merged, and its
    /// client must observe the activity anew (R4).
    func isTooLate(at time: Date, in scope: Scope) -> Bool {
        guard let observedAt, !wasAccepted else { return false }
        return observedAt.addingTimeInterval(Double(scope.app.settings.activityLifetime.components.seconds)) <= time
    }
}

extension ClaimedToken {
    /// Why the token is not the activity's, although the activity's row has it (R2, R7, R8). The view of verdicts says the
    /// same to everyone else; here it is made of the rows that the batch's own statements returned, the request's claim among
    /// them, for to ask the view of each activity would make every registration dearer.
    fileprivate func problem(for activity: MergedActivity) -> Problem? {
        if owner != activity.activityID {
            return Problem(.superseded, "Another activity registered this token later.", activity, "taken-over")
        }
        if isOfInstallation {
            let detail =
                "The value is known as an installation's device token. Register the token that "
                + "pushTokenUpdates gave for this activity."
            return Problem(.tokenKindConflict, detail, activity, "kind-conflict")
        }
        if let deadAt, let claim = activity.claimedAt, claim <= deadAt {
            if isPurged {
                let detail =
                    "An admin purged the token. Register the one that pushTokenUpdates gives, with its present time."
                return Problem(.tokenUnregistered, detail, activity, "purged")
            }
            let detail =
                "APNs said after observedAt that this token is dead. Register the one that pushTokenUpdates "
                + "gives now."
            return Problem(.tokenUnregistered, detail, activity, "unregistered")
        }
        return nil
    }

    /// The request claimed the token later than it was said dead or quarantined, and no request had before.
    fileprivate func isReactivated(by activity: MergedActivity) -> Bool {
        guard ["refreshed", "reactivated"].contains(activity.outcome),
            let until = [deadAt, quarantinedAt].compactMap(\.self).max(),
            let previous = activity.previousClaimedAt, let claim = activity.claimedAt
        else { return false }
        return previous <= until && claim > until
    }
}

extension Problem {
    init(_ code: Code, _ detail: String, _ activity: MergedActivity, _ reason: String? = nil) {
        self.init(code, detail)
        self.activity = activity.answer
        if let reason { self.activity?.reason = reason }
        serverTime = activity.serverTime
    }

    static func clockSkew(_ serverTime: Date) -> Problem {
        var problem = Problem(
            .clockSkew,
            "observedAt is more than 5 minutes ahead of the server's clock. Correct the offset by serverTime."
        )
        problem.errors = [JSONFault(pointer: "/observedAt", detail: "lies more than 5 minutes in the future")]
        problem.serverTime = serverTime
        return problem
    }
}
