import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Runs as one transaction (R9). The list counts for every signed-in user, because the user takes over the
    /// installation. Items about another claimant's activities get `notYours` and do not count, so these activities are
    /// dismissed if they belong to this installation.
    package func apply(
        _ state: FullState,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> FullStateResults {
        let time = Timestamp(state.observedAt)
        let request = InstallationRequest(installation, observedAt: time, claimant: claimant, actor: who)
        let unit = FullStateUnit(state: state.withoutRepetitions, time: time, request: request, scope: scope)
        return try await transact { try unit.applyFullState(in: $0, locking: $1) }
    }

    /// Maximum activities of an installation that have not ended, including recently expired activities. A full state
    /// locks all of them; real phones run a handful.
    package static let mostRunningActivities = 1000
}

private struct FullStateUnit {
    let state: FullState
    let time: Timestamp
    let request: InstallationRequest
    let scope: Scope

    private static let tooManyActivities = Problem(faults: [
        JSONFault(
            pointer: "/activities",
            detail: """
                cannot be compared with more than \(Registry.mostRunningActivities) recent activities that have not ended, \
                more than a phone can have; end activities, and give each phone its own installationId
                """
        )
    ])

    func applyFullState(
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> FullStateResults {
        let locks = InstallationLocks(of: request)
        let readRunning = Query("installations.read-running-activities")([
            "scope": scope.id, "installation": request.installation, "limit": Registry.mostRunningActivities + 1,
        ])
        let found = try transaction.pipeline([locks.lockInstallation(in: scope), readRunning])[1]
        let running = try found.decode(ActivityID.self)
        guard running.count <= Registry.mostRunningActivities else { throw Self.tooManyActivities }
        var known: Set<ActivityID> = []
        let listed = state.items.filter { known.insert($0.activityID).inserted }
        // The activity ran at the time of the full state. A readable item adds its registration.
        let registrations = listed.map { registration($0.registration, of: $0.activityID) }
        let unit = RegistrationUnit(registrations: registrations, scope: scope)
        var rows = try unit.locks(adding: additionalIDs.union(running)).lockRows(locks, transaction)
        let previous = try rows.decide { rows throws(Rejection) in
            try rows.registerFullState(request, at: time)
        }
        let results = try unit.merge(&rows, transaction)
        // A rejected registration, like a malformed item, still shows that a known activity is present.
        for (item, result) in zip(listed, results) where [.clockSkew, .activityExpired].contains(result.failure?.code) {
            guard rows.activity(item.activityID) != nil else { continue }
            _ = rows.merge(registration(nil, of: item.activityID)) { _ in false }
        }
        var dismissed: [ActivityID] = []
        if previous.map({ $0 <= time }) ?? true {
            let present = zip(listed, results).filter { $1.failure?.code != .notYours }.map(\.0.activityID)
            dismissed = rows.dismissUnlisted(
                of: request.installation,
                at: time,
                previous: previous,
                listed: Set(present),
                actor: request.actor
            )
        }
        try rows.write(in: scope, transaction)
        return FullStateResults(results: state.results(of: listed, results), ended: dismissed)
    }

    /// - Parameter body: nil for the mere presence of an activity.
    private func registration(_ body: ActivityRegistration?, of id: ActivityID) -> Registration {
        var body = body ?? ActivityRegistration(token: nil)
        (body.observedAt, body.installation) = (state.observedAt, request.installation)
        return Registration(body, of: id, claimant: request.claimant, actor: request.actor)
    }
}

extension FullState {
    /// One result per distinct item; repetitions already have a problem.
    fileprivate func results(
        of first: [Item],
        _ merged: [Result<RegistrationResult, Problem>]
    ) -> [Result<RegistrationOutcome, Problem>] {
        let results = Dictionary(uniqueKeysWithValues: zip(first.map(\.activityID), merged))
        return items.map { item in results[item.activityID].map(item.result) ?? .failure(.lostResult) }
    }
}

extension Result<RegistrationResult, Problem> {
    fileprivate var failure: Problem? { if case .failure(let problem) = self { problem } else { nil } }
}

extension FullState.Item {
    private func located(_ problem: Problem) -> Problem {
        var problem = problem
        problem.errors = problem.errors.map { JSONFault(pointer: pointer + $0.pointer, detail: $0.detail) }
        return problem
    }

    /// The item's own fault takes precedence over the result of its presence.
    fileprivate func result(_ merged: Result<RegistrationResult, Problem>) -> Result<RegistrationOutcome, Problem> {
        problem.map { .failure($0) } ?? merged.map(\.outcome).mapError(located)
    }
}
