import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Takes in all running activities of an installation as one transaction (R9).
    ///
    /// The state of an installation is what it says it is, whoever is signed in there: a signed-in user takes the
    /// installation over. Items about activities of others get `notYours`, count for nothing, and so fall out where they
    /// are of this installation.
    ///
    /// - Parameter claimant: by what right; a client names this same installation.
    /// - Throws: `clockSkew`; faults of items are in the answer.
    public func apply(
        _ state: FullState,
        of installation: InstallationHash,
        in scope: Scope,
        by who: String,
        claimant: Claimant = .any
    ) async throws -> FullStateAnswer {
        let statements = FullStateStatements(
            installation: installation,
            observedAt: state.observedAt,
            scope: scope,
            who: who
        )
        return try await write { session in
            try session.transaction { transaction in
                try Self.lock(state, statements, claimant, transaction)
                let requests = state.items.map { item in
                    RegistrationRequest(
                        id: item.activityID.rawValue,
                        registration: item.observed(at: state.observedAt, by: installation),
                        who: who,
                        claimant: claimant,
                        scope: scope
                    )
                }
                let results = try Self.merge(requests, in: scope) { try transaction.pipeline($0) }
                let present = zip(state.listedIDs, results).filter { !$1.isOfAnother }.map(\.0)
                let ended = try Self.dismiss(present, statements, transaction)
                return FullStateAnswer(results: zip(state.items, results).map { $0.result($1) }, ended: ended)
            }
        }
    }

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
                rows.lock(observedAt: state.observedAt, registers: true), Refusal.facts(in: scope),
                statements.lock(listed: state.listedIDs, tokens: state.tokens),
            ] + (claimant.subject == nil ? [] : rows.aliasRows + [rows.changeEvent("taken-over", by: statements.who)])
        )
        guard !results[0].isEmpty else {
            throw try Refusal(of: state.observedAt, results[1][0]).problem
        }
    }

    private static func dismiss(
        _ listed: [String],
        _ statements: FullStateStatements,
        _ transaction: borrowing PostgresTransaction
    ) throws -> [ActivityID] {
        let statements = [statements.remember, statements.dismissal(listed: listed), statements.event(listed: listed)]
        let dismissed = try transaction.pipeline(statements, finishing: true)[1]
        return try dismissed.rows.map { try $0.column(0, as: String.self) }.sorted().compactMap { try? ActivityID($0) }
    }
}

extension FullState {
    fileprivate var listedIDs: [String] { items.map(\.activityID.rawValue) }
    fileprivate var tokens: [[UInt8]] { items.compactMap { $0.registration?.token?.bytes } }
}

extension Result<RegistrationAnswer, Problem> {
    fileprivate var isOfAnother: Bool {
        guard case .failure(let problem) = self else { return false }
        return problem.code == .notYours
    }
}

extension FullState.Item {
    /// What the item says of its activity: that it ran at the time of the full state, and more if it was readable.
    fileprivate func observed(at time: Date, by installation: InstallationHash) -> ActivityRegistration {
        var registration = registration ?? ActivityRegistration(token: nil)
        registration.observedAt = time
        registration.installation = installation
        return registration
    }

    /// The item's own fault goes before what its bare sign of life did.
    fileprivate func result(_ merged: Result<RegistrationAnswer, Problem>) -> FullStateAnswer.ItemResult {
        let result = problem.map { .failure($0) } ?? merged.map(\.outcome)
        return FullStateAnswer.ItemResult(activityID: activityID, result: result)
    }
}
