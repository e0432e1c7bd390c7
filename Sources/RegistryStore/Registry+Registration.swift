import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Registers, rotates or refreshes an activity's token.
    ///
    /// - Throws: `superseded`, `activityEnded`, `activityExpired`, `clockSkew`.
    public func register(
        _ registration: ActivityRegistration,
        as id: ActivityID,
        in scope: Scope,
        by who: String
    ) async throws -> RegistrationAnswer {
        let results = try await write { session in
            try Self.merge([(id.rawValue, registration)], in: scope, by: who) { try session.pipeline($0) }
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
        _ run: ([SQL]) throws -> [PostgresResult]
    ) throws -> [Result<RegistrationAnswer, Problem>] {
        var results: [Int: Result<RegistrationAnswer, Problem>] = [:]
        var open = Array(registrations.indices)
        while !open.isEmpty {
            var batch = RegistrationBatch()
            let round = open.filter { batch.add(registrations[$0].registration, as: registrations[$0].id) }
            open.removeAll(where: round.contains)
            let answers = try Self.merge(batch, in: scope, by: who, run)
            for index in round {
                results[index] = answers.answer(to: registrations[index].registration, as: registrations[index].id)
            }
        }
        return registrations.indices.compactMap { results[$0] }
    }

    private static func merge(
        _ batch: RegistrationBatch,
        in scope: Scope,
        by who: String,
        _ run: ([SQL]) throws -> [PostgresResult]
    ) throws -> RegistrationAnswers {
        let statements = RegistrationStatements(batch: batch, scope: scope, who: who)
        let results = try run(statements.all)
        var answers = try RegistrationAnswers(
            merged: results[statements.mergeIndex],
            owners: results[statements.ownershipIndex]
        )
        if answers.merged.count < batch.activityIDs.count {
            answers.serverTime = try run(["SELECT clock_timestamp()"])[0][0].column(0, as: Date.self)
        }
        return answers
    }
}

/// What the statements of a batch returned, and the answer that follows for each request.
struct RegistrationAnswers {
    var merged: [String: MergedActivity] = [:]
    /// Token digest to the activity that owns the value.
    private var owners: [[UInt8]: String] = [:]
    /// Postgres's clock, asked for when a request was refused for its time.
    var serverTime: Date?

    init(merged: PostgresResult, owners: PostgresResult) throws {
        for row in merged.rows {
            let activity = try MergedActivity(row)
            self.merged[activity.activityID] = activity
        }
        for row in owners.rows {
            let (digest, owner) = try row.decode([UInt8].self, String.self)
            self.owners[digest] = owner
        }
    }

    func answer(to registration: ActivityRegistration, as id: String) -> Result<RegistrationAnswer, Problem> {
        guard let activity = merged[id] else { return .failure(refusal(of: registration)) }
        switch activity.outcome {
        case "refused": return .failure(.init(.activityEnded, "The activity has ended; an id is used once.", activity))
        case "expired": return .failure(.init(.activityExpired, "The activity's lifetime is over.", activity))
        case "superseded":
            var problem = Problem(.superseded, "A registration with a later observedAt is current.", activity)
            problem.activity?.reason = "rotated"
            return .failure(problem)
        default: return owned(activity, carriesToken: registration.token != nil)
        }
    }

    /// R2: a token counts only where its activity is its owner, too.
    private func owned(_ activity: MergedActivity, carriesToken: Bool) -> Result<RegistrationAnswer, Problem> {
        if carriesToken, let digest = activity.tokenDigest, owners[digest] != activity.activityID {
            var problem = Problem(.superseded, "Another activity registered this token later.", activity)
            problem.activity?.reason = "taken-over"
            return .failure(problem)
        }
        let outcome = RegistrationOutcome(rawValue: activity.outcome) ?? .refreshed
        return .success(RegistrationAnswer(outcome: outcome, activity: activity.answer))
    }

    private func refusal(of registration: ActivityRegistration) -> Problem {
        guard let serverTime, let observedAt = registration.observedAt, observedAt > serverTime else {
            return Problem(.unknownApp, "The app was deleted.")
        }
        return .clockSkew(serverTime)
    }
}

extension Problem {
    init(_ code: Code, _ detail: String, _ activity: MergedActivity) {
        self.init(code, detail)
        self.activity = activity.answer
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
