import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Runs as one transaction (R9). The list counts for every signed-in user, because the user takes over the
    /// installation. Items about another claimant's activities get `notYours` and do not count, so these activities are
    /// dismissed if they belong to this installation.
    ///
    /// - Throws: `clockSkew`, or `invalidRequest` above ``mostRunningActivities``; faults of items are in the answer.
    package func apply(
        _ state: FullState,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> FullStateResults {
        let state = state.withoutRepetitions
        let unit = FullStateUnit(state: state, installation: installation, scope: scope, who: who, claimant: claimant)
        return try await transact { try unit.applyFullState(in: $0, locking: $1) }
    }

    /// Maximum activities of an installation that have not ended, including recently expired activities. A full state
    /// locks all of them; real phones run a handful.
    package static let mostRunningActivities = 10_000
}

private struct FullStateUnit {
    let state: FullState
    let installation: InstallationHash
    let scope: Scope
    let who: UTF8Text
    let claimant: Claimant

    private static let tooManyActivities = Problem(
        .invalidRequest,
        """
        The installation has more than \(Registry.mostRunningActivities) recent activities that have not ended, more than \
        a phone can have, so its full state is rejected. End activities, and give each phone its own installationId.
        """
    )

    func applyFullState(
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> FullStateResults {
        let observedAt = Timestamp(state.observedAt)
        let request = InstallationRequest(installation, observedAt: observedAt, claimant: claimant, actor: who)
        let locks = InstallationLocks(of: request)
        let running = try lockInstallation(locks, transaction)
        guard running.count <= Registry.mostRunningActivities else { throw Self.tooManyActivities }
        let listed = state.firstItems
        let registrations = listed.map { item in
            registration(item.observed(at: state.observedAt, by: installation), of: item.activityID)
        }
        let unit = RegistrationUnit(registrations: registrations, scope: scope)
        var rows = try unit.locks(adding: additionalIDs.union(running)).lockRows(locks, in: scope, transaction)
        let previous = try rows.decide { rows throws(Rejection) in
            try rows.registerFullState(request, at: observedAt)
        }
        let results = try unit.merge(&rows, transaction)
        // A rejected registration, like a malformed item, still shows that its activity is present.
        for (item, result) in zip(listed, results) where [.clockSkew, .activityExpired].contains(result.failure?.code) {
            let presence = ActivityRegistration.presence(at: state.observedAt, of: installation)
            _ = rows.merge(registration(presence, of: item.activityID)) { _ in false }
        }
        var dismissed: [ActivityID] = []
        if previous.map({ $0 <= observedAt }) ?? true {
            let present = zip(listed, results).filter { $1.failure?.code != .notYours }.map(\.0.activityID)
            dismissed = rows.dismissUnlisted(
                of: installation,
                at: observedAt,
                previous: previous,
                listed: Set(present),
                actor: who
            )
        }
        try rows.write(in: scope, transaction, isLast: true)
        return FullStateResults(results: state.results(of: listed, results), ended: dismissed)
    }

    private func registration(_ body: ActivityRegistration, of id: ActivityID) -> Registration {
        Registration(body, of: id, claimant: claimant, actor: who)
    }

    private func lockInstallation(
        _ locks: InstallationLocks,
        _ transaction: borrowing PostgresTransaction
    ) throws -> [ActivityID] {
        let running = Query("installations.read-running-activities")([
            "scope": scope.id, "installation": installation, "limit": Registry.mostRunningActivities + 1,
        ])
        return try transaction.pipeline([locks.lockInstallation(in: scope), running])[1].decode(ActivityID.self)
    }
}

extension FullState {
    fileprivate var firstItems: [Item] {
        var known: Set<ActivityID> = []
        return items.filter { known.insert($0.activityID).inserted }
    }

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
    fileprivate var failure: Problem? {
        if case .failure(let problem) = self { problem } else { nil }
    }
}

extension ActivityRegistration {
    fileprivate static func presence(at time: Date, of installation: InstallationHash) -> ActivityRegistration {
        var presence = ActivityRegistration(token: nil)
        presence.observedAt = time
        presence.installation = installation
        return presence
    }
}

extension FullState.Item {
    /// The activity ran at the time of the full state. A readable item adds its registration.
    fileprivate func observed(at time: Date, by installation: InstallationHash) -> ActivityRegistration {
        guard var registration else { return .presence(at: time, of: installation) }
        registration.observedAt = time
        registration.installation = installation
        return registration
    }

    /// The problem with pointers into the whole body.
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
