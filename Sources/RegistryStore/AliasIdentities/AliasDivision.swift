import Foundation
import PostgresDriver
import RegistryCore

/// Carries a request about (liveactivityId, owner) over to the activities that its history divides into.
struct AliasDivision {
    let identity: AliasIdentity
    let statements: AliasIdentityStatements
    let scope: Scope
    let who: UTF8Text
    /// The right of the current request; earlier requests had their own.
    let claimant: Claimant

    // MARK: Registration

    func register(
        _ registration: ActivityRegistration,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Result<RegistrationAnswer, Problem> {
        if registration.observedAt == nil, identity.isTokenKnown {
            return try registerAgain(registration, transaction)
        }
        let observedAt = registration.observedAt ?? identity.receivedAt
        if let end = identity.endedAt, observedAt <= end { return try registerLate(registration, transaction) }
        return try registerNew(registration, at: observedAt, transaction)
    }

    /// A token seen before, without a time: the current one is a refresh, any other is refused.
    private func registerAgain(
        _ registration: ActivityRegistration,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Result<RegistrationAnswer, Problem> {
        guard identity.isRunning else { return try registerLate(registration, transaction) }
        guard let activity = identity.activity, activity.tokenDigest == identity.tokenDigest else {
            return .failure(refusal())
        }
        return try merge([(activity.activityID, registration)], transaction)[0]
    }

    private func refusal(
        _ detail: String = "The token was retired under this alias; send observedAt to claim it anew."
    ) -> Problem {
        var problem = Problem(.superseded, detail)
        problem.activity = identity.activity?.answer
        problem.activity?.reason = "rotated"
        problem.serverTime = identity.receivedAt
        return problem
    }

    /// Observed no later than the end, or of an activity that is over: it counts for the tombstone.
    private func registerLate(
        _ registration: ActivityRegistration,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Result<RegistrationAnswer, Problem> {
        let id = identity.closedActivityID ?? identity.activityID ?? identity.newActivityID()
        return try merge([(id, registration)], transaction)[0]
    }

    private func registerNew(
        _ registration: ActivityRegistration,
        at observedAt: Date,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Result<RegistrationAnswer, Problem> {
        let timed = timed(registration, at: observedAt)
        let entry = AliasTimeline.Registration(
            observedAt: observedAt,
            tokenDigest: identity.tokenDigest,
            startedAt: timed.startedAt ?? observedAt,
            startsAt: timed.startsAt
        )
        return try divide(
            identity.registrations + [(entry, timed)],
            isLastInHand: true,
            after: identity.endedAt,
            closed: [],
            identity.closedActivityID,
            transaction
        )
    }

    /// The registration with its effective times, as in the activity's own row, for a later merge.
    private func timed(_ registration: ActivityRegistration, at observedAt: Date) -> ActivityRegistration {
        var timed = registration
        timed.observedAt = observedAt
        if timed.startedAt ?? observedAt > identity.receivedAt { timed.startedAt = identity.receivedAt }
        if let startsAt = timed.startsAt, startsAt <= observedAt || timed.isTooLate(at: identity.receivedAt, in: scope)
        {
            timed.startsAt = nil
        }
        return timed
    }

    // MARK: End

    func end(reason: EndReason, observedAt: Date?, _ transaction: borrowing PostgresTransaction) throws {
        // Without a time it ends the running activity, even one that a fast clock observed in the future.
        let end = observedAt ?? ([identity.receivedAt] + identity.registrations.map(\.entry.observedAt)).max()!
        let closing = identity.registrations.filter { $0.entry.observedAt <= end }.compactMap(\.entry.activityID)
        let remaining = identity.registrations.filter { $0.entry.observedAt > end }
        let latest = remaining.isEmpty ? identity.activityID : nil
        let ended = closing.max() ?? latest ?? identity.closedActivityID ?? identity.newActivityID()
        let ends = EndStatements(scope: scope, who: who, claimant: claimant)
        let all = Set(closing + [ended]).sorted()
        let results = try transaction.pipeline(
            ends.end(all, reason: reason, observedAt: observedAt ?? identity.receivedAt)
                + [
                    statements.update(activityID: identity.activityID ?? ended, closedActivityID: ended, endedAt: end),
                    ends.refusalFacts(about: all),
                ]
        )
        try check(all, ended: results[0], observedAt, results[results.count - 1][0])
        if !remaining.isEmpty {
            _ = try divide(remaining, isLastInHand: false, after: end, closed: Set(closing), ended, transaction)
        }
        let forgotten = identity.registrations.map(\.entry).filter { $0.observedAt <= end }
        _ = try transaction.pipeline([statements.forget(forgotten), statements.forgetDigests, statements.forgetOld])
    }

    /// Cancels the transaction if an activity was not ended. Erased activities are already over.
    private func check(_ all: [ActivityID], ended: PostgresResult, _ observedAt: Date?, _ facts: PostgresRow) throws {
        let ended = try Set(ended.decode(EndedActivity.columns).map(\.activityID))
        for id in all where !ended.contains(id) {
            let refusal = try Refusal(of: observedAt, as: id, facts)
            if case .erased = refusal { continue }
            throw refusal.problem
        }
    }

    // MARK: Division

    /// Merges each registration into its activity, unless that was done; the answer is that of the last registration. A
    /// remembered registration that names erased data is forgotten.
    ///
    /// - Parameter isLastInHand: whether the last is the current request, and not remembered.
    private func divide(
        _ registrations: [(entry: AliasTimeline.Registration, registration: ActivityRegistration)],
        isLastInHand: Bool,
        after end: Date?,
        closed: Set<ActivityID>,
        _ closedActivityID: ActivityID?,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Result<RegistrationAnswer, Problem> {
        let lifetime = scope.app.settings.activityLifetime
        let timeline = AliasTimeline(registrations.map(\.entry), after: end, lifetime: lifetime)
        let kept = Set(registrations.map(\.entry.key))
        let surplus = kept.count > AliasTimeline.mostRegistrations ? timeline.surplus : nil
        // So late that it would fall out at once: no activity begins with it.
        if let surplus, surplus.activityID == nil, timeline.activityID(ofGeneration: 0) == nil {
            return .failure(refusal("The token was observed before more others than the registry keeps of an alias."))
        }
        let targets = targets(timeline, closed: closed)
        let open = registrations.compactMap { item in targets[item.entry].map { (id: $0, item: item) } }
        let moves = open.filter { $0.id != $0.item.entry.activityID }
        let merged = moves.map { ($0.id, $0.item.registration) }
        let results = try merge(merged, isLastInHand: isLastInHand, transaction)
        let gone = Set(zip(moves, results).filter { $1.isOfErased }.map { $0.0.item.entry.key })
        let isKept = { (entry: AliasTimeline.Registration) in entry != surplus && !gone.contains(entry.key) }
        let latest = open.filter { !gone.contains($0.item.entry.key) }
            .max { $0.item.entry.observedAt < $1.item.entry.observedAt }
        let remembered = moves.filter { isKept($0.item.entry) }.map { move in
            statements.remember(move.item.registration, at: move.item.entry.observedAt, as: move.id)
        }
        let forgotten = registrations.map(\.entry).filter { targets[$0] == nil || !isKept($0) }
        let update = statements.update(
            activityID: latest?.id ?? identity.activityID,
            closedActivityID: closedActivityID,
            endedAt: end
        )
        let forgetting =
            forgotten.isEmpty ? [] : [statements.forget(forgotten), statements.forgetDigests]
        _ = try transaction.pipeline(remembered + [update] + forgetting + [statements.forgetOld])
        return results.last ?? .failure(refusal())
    }

    private func targets(_ timeline: AliasTimeline, closed: Set<ActivityID>) -> [AliasTimeline.Registration: ActivityID]
    {
        var targets: [AliasTimeline.Registration: ActivityID] = [:]
        for (index, generation) in timeline.generations.enumerated() {
            let known = timeline.activityID(ofGeneration: index)
            let id = known.flatMap { closed.contains($0) ? nil : $0 } ?? identity.newActivityID()
            for entry in generation.registrations { targets[entry] = id }
        }
        return targets
    }

    /// - Parameter isLastInHand: whether the last is the one in hand, which is made by the claimant's right, and not remembered.
    private func merge(
        _ registrations: [(ActivityID, ActivityRegistration)],
        isLastInHand: Bool = true,
        _ transaction: borrowing PostgresTransaction
    ) throws -> [Result<RegistrationAnswer, Problem>] {
        let name = AliasSet(stored: [Alias(checkedKind: Alias.liveActivityKind, value: statements.alias)])
        let named = registrations.enumerated().map { index, item in
            var named = item.1
            named.defaultAliases = name
            let isInHand = isLastInHand && index == registrations.count - 1
            return RegistrationRequest(
                id: item.0,
                registration: named,
                who: who,
                claimant: isInHand ? claimant : .any,
                scope: scope
            )
        }
        let results = try RegistrationRequest.merge(named, isDistributed: transaction.isDistributed) {
            try transaction.pipeline($0)
        }
        guard !results.contains(where: \.isUnforeseen) else { throw UnforeseenRefusal() }
        // A registration of something erased, or of another's activity, leaves no identity either: the transaction is
        // given up.
        if isLastInHand, case .failure(let problem)? = results.last, problem.isOfErased || problem.code == .notYours {
            throw problem
        }
        return results
    }
}

extension Result<RegistrationAnswer, Problem> {
    fileprivate var isOfErased: Bool {
        if case .failure(let problem) = self { problem.isOfErased } else { false }
    }
}
