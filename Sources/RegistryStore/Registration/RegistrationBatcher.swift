import PostgresDriver
import RegistryCore

extension Batcher<RegistrationRequest, RegistrationAnswer> {
    /// Callers share statements and a commit. Registrations of one activity or token go in separate batches, in order
    /// within a lane.
    static func registrations(_ units: UnitsOfWork) -> Batcher {
        Batcher(
            lanes: 2...2,
            largestBatch: 128,
            capacity: 10_000,
            timeout: units.pool.requestTimeout,
            measures: units.measures.batches[.registrations],
            select: { candidates in
                guard let first = candidates.first else { return [] }
                var selection = RegistrationSelection(isGuarded: first.isGuarded)
                return candidates.map { $0.scope.id == first.scope.id && selection.add($0) }
            },
            perform: { lane in
                try await units.serve(lane, .registrations, .ifSafe) { session, requests in
                    let results = try RegistrationRequest.mergeOnce(requests, isDistributed: session.isDistributed) {
                        try session.pipeline($0)
                    }
                    if results.contains(where: \.isUnforeseen) { units.log(UnforeseenRefusal()) }
                    return results
                }
            }
        )
    }
}

extension RegistrationRequest {
    /// Merges registrations of one scope in the order given, in as few round trips as repeated activities and tokens
    /// allow.
    ///
    /// - Parameter run: runs statements in one round trip, inside the transaction of all rounds if there may be
    ///   several.
    /// - Returns: a result for each, in the order given.
    static func merge(
        _ requests: [RegistrationRequest],
        isDistributed: Bool,
        _ run: ([SQL]) throws -> [PostgresResult]
    ) throws -> [Result<RegistrationAnswer, Problem>] {
        var results: [Int: Result<RegistrationAnswer, Problem>] = [:]
        var open = Array(requests.indices)
        while !open.isEmpty {
            var selection = RegistrationSelection(isGuarded: requests[open[0]].isGuarded)
            let round = open.filter { selection.add(requests[$0]) }
            open.removeAll(where: Set(round).contains)
            for (index, result) in zip(
                round,
                try mergeOnce(round.map { requests[$0] }, isDistributed: isDistributed, run)
            ) {
                results[index] = result
            }
        }
        return requests.indices.compactMap { results[$0] }
    }

    fileprivate static func mergeOnce(
        _ requests: [RegistrationRequest],
        isDistributed: Bool,
        _ run: ([SQL]) throws -> [PostgresResult]
    ) throws -> [Result<RegistrationAnswer, Problem>] {
        let statements = RegistrationStatements(
            batch: RegistrationBatch(requests),
            scope: requests[0].scope,
            isDistributed: isDistributed
        )
        let results = try run(RegistrationTemplates.statements(of: statements))
        var answers = try RegistrationAnswers(
            merged: results[statements.mergeIndex],
            owners: results[statements.ownershipIndex]
        )
        if answers.merged.count < requests.count { answers.refusalFacts = try run([statements.refusalFacts])[0][0] }
        return try requests.map { try answers.answer(to: $0) }
    }
}

extension Result<RegistrationAnswer, Problem> {
    /// The statements touched nothing, for an unknown cause.
    var isUnforeseen: Bool {
        guard case .failure(let problem) = self else { return false }
        return problem.code == .internalError
    }
}
