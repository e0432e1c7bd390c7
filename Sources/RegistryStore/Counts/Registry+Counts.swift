import PostgresDriver
import RegistryCore

extension Registry {
    /// The counts of this minute, made and stored now unless they already are. If several instances count at once, the counts
    /// of one are stored, and all return these.
    ///
    /// - Throws: `unavailable`.
    @discardableResult
    package func counts(in scope: Scope) async throws -> Counts {
        let statements = CountStatements(scope: scope)
        return try await write { session in
            if let row = try session.execute(statements.current).rows.first { return try Counts(row) }
            var count = Count(statements: statements)
            try count.addActivities(session)
            try count.addTokens(session)
            let store = statements.store(Counts.json(count.ages), isEstimated: count.isEstimated)
            _ = try session.pipeline([store, statements.thinOut])
            // Another instance's counts, if it was first.
            return try Counts(session.execute(statements.latest)[0])
        }
    }
}

private struct Count {
    let statements: CountStatements
    var ages: [Counts.Group: [Int]] = [:]
    var isEstimated = false

    mutating func addActivities(_ session: borrowing PostgresSession) throws {
        let sample = try makeSample(of: "activities", session)
        let counted = try sample.count(session, { statements.activities(percent: $0) }) { row in
            let (state, age, tokenState, tokenAge, count) =
                try row.decode(String.self, Int.self, String?.self, Int?.self, Int.self)
            return ((state: state, age: age, tokenState: tokenState, tokenAge: tokenAge), count)
        }
        isEstimated = isEstimated || counted.isEstimated
        for (group, count) in counted.groups {
            try add(count, "activity", group.state, age: group.age)
            guard let state = group.tokenState, let age = group.tokenAge else { continue }
            try add(count, TokenKind.update.name, state, age: age)
        }
    }

    mutating func addTokens(_ session: borrowing PostgresSession) throws {
        let sample = try makeSample(of: "installation_tokens", session)
        let counted = try sample.count(session, { statements.tokens(percent: $0) }) { row in
            let (kind, state, age, count) = try row.decode(String.self, String.self, Int.self, Int.self)
            return ((kind: kind, state: state, age: age), count)
        }
        isEstimated = isEstimated || counted.isEstimated
        for (group, count) in counted.groups { try add(count, group.kind, group.state, age: group.age) }
    }

    private func makeSample(of table: String, _ session: borrowing PostgresSession) throws -> TableSample {
        try TableSample(table, size: CountStatements.sampleSize, of: statements.scope, session)
    }

    private mutating func add(_ count: Int, _ kind: String, _ state: String, age: Int) throws {
        guard let group = Counts.Group(kind: kind, state: state) else {
            throw UnreadableRow(detail: "an unknown kind or state")
        }
        ages[group, default: RegistryStatistics.emptyAges.map { _ in 0 }][age] += count
    }
}
