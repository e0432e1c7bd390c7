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
        by who: String,
        claimant: Claimant = .any
    ) async throws -> RegistrationAnswer {
        let results = try await write { session in
            try Self.merge([(id.rawValue, registration)], in: scope, by: who, claimant) { try session.pipeline($0) }
        }
        return try results[0].get()
    }

    /// Merges registrations in the order given, through as few round trips as repeated activities and tokens allow.
    ///
    /// - Parameter run: runs statements in one round trip, inside of the transaction that all of them belong to when
    ///   there may be more than one round.
    /// - Returns: a result for each, in the order given.
    static func merge(
        _ registrations: [(id: String, registration: ActivityRegistration)],
        in scope: Scope,
        by who: String,
        _ claimant: Claimant = .any,
        _ run: ([SQL]) throws -> [PostgresResult]
    ) throws -> [Result<RegistrationAnswer, Problem>] {
        var results: [Int: Result<RegistrationAnswer, Problem>] = [:]
        var open = Array(registrations.indices)
        while !open.isEmpty {
            var batch = RegistrationBatch(isGuarded: claimant != .any)
            let round = open.filter {
                batch.add(claimant.sign(registrations[$0].registration), as: registrations[$0].id)
            }
            open.removeAll(where: round.contains)
            let answers = try Self.merge(batch, in: scope, by: who, claimant, run)
            for index in round {
                results[index] = try answers.answer(to: registrations[index].registration, as: registrations[index].id)
            }
        }
        return registrations.indices.compactMap { results[$0] }
    }

    private static func merge(
        _ batch: RegistrationBatch,
        in scope: Scope,
        by who: String,
        _ claimant: Claimant,
        _ run: ([SQL]) throws -> [PostgresResult]
    ) throws -> RegistrationAnswers {
        let statements = RegistrationStatements(batch: batch, scope: scope, who: who)
        let results = try run(statements.all)
        var answers = try RegistrationAnswers(
            merged: results[statements.mergeIndex],
            owners: results[statements.ownershipIndex]
        )
        if answers.merged.count < batch.activityIDs.count {
            let refused = batch.activityIDs.filter { answers.merged[$0] == nil }
            answers.refusalFacts = try run([Refusal.facts(about: refused, for: claimant, in: scope)])[0][0]
        }
        return answers
    }
}

/// What the statements of a batch returned, and the answer that follows for each request.
struct RegistrationAnswers {
    var merged: [String: MergedActivity] = [:]
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

    func answer(
        to registration: ActivityRegistration,
        as id: String
    ) throws -> Result<RegistrationAnswer, Problem> {
        guard let activity = merged[id] else { return .failure(try refusal(of: registration, as: id)) }
        switch activity.outcome {
        case "refused": return .failure(.init(.activityEnded, "The activity has ended; an id is used once.", activity))
        case "expired": return .failure(.init(.activityExpired, "The activity's lifetime is over.", activity))
        case "superseded":
            let detail = "A registration with a later observedAt is current."
            return .failure(Problem(.superseded, detail, activity, "rotated"))
        default:
            let token = registration.token == nil ? nil : activity.tokenDigest.flatMap { tokens[$0] }
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

    private func refusal(of registration: ActivityRegistration, as id: String) throws -> Problem {
        guard let refusalFacts else { return Problem(.internalError, "The registry could not carry out the request.") }
        return try Refusal(of: registration.observedAt, as: id, refusalFacts).problem
    }
}

extension ClaimedToken {
    /// Why the token is not the activity's, although the activity's row has it (R2, R7, R8).
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
