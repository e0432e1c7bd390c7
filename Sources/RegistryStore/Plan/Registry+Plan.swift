import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// The pushes for each phone, with the leases of the phones on which the caller is to start the activity.
    ///
    /// A phone on which several activities with the alias run has an entry for each. The leases are committed when this returns.
    package func plan(
        _ request: PlanRequest,
        after position: PlanPosition = .start,
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> PlanPage {
        let unit = PlanUnit(request: request, scope: scope, who: who)
        let found = try await read { try unit.findPage(after: position, $0) }
        let starts = found.phones.filter(\.isStarted)
        var taken: [InstallationHash: PlanDecision] = [:]
        if !starts.isEmpty {
            taken = try await write { session in
                try session.transaction { transaction, _ in
                    try unit.takeLeases(starts, hasChannel: found.hasChannel, in: transaction)
                }
            }
        }
        let entries = found.phones.map { phone in
            let hash = phone.facts.installation
            return PlanEntry(installation: hash, step: unit.step(taken[hash] ?? phone.decision))
        }
        return PlanPage(entries: found.entries + entries, channels: found.channels, next: found.next)
    }

    /// Gives a lease back because nothing was sent. A lease that is not active stays as it is.
    package func release(_ lease: LeaseID, in scope: Scope, by who: UTF8Text) async throws {
        let unit = LeaseUnit(scope: scope, who: who)
        try await write { session in
            try session.transaction { transaction, _ in try unit.release(lease, in: transaction) }
        }
    }
}

extension PlanUnit.Phone {
    fileprivate var isStarted: Bool {
        if case .start = decision { true } else { false }
    }
}
