import PostgresDriver
import RegistryCore

extension Registry {
    /// The counts of this minute, computed and stored if missing. If several instances count at once, all return the
    /// counts stored first.
    @discardableResult
    package func counts(in scope: Scope) async throws -> Counts {
        try await write { session in
            let latest: QueryValues = ["scope": scope.id]
            let current = try session.run(.readLatestCounts, latest).decode { row in
                try row["is_current"] ? Counts(row: row) : nil
            }
            if let counts = current.first.flatMap(\.self) { return counts }
            var count = Count(scope: scope)
            try count.addActivities(session)
            try count.addTokens(session)
            let counts: QueryValues = [
                "scope": scope.id, "is_estimated": count.isEstimated, "ages": Counts.json(count.ages),
            ]
            _ = try session.pipeline([Query("counts.insert")(counts), Query("counts.thin-out")(latest)])
            // Another instance's counts if it was first.
            return try session.run(.readLatestCounts, latest).decode(Counts.self)[0]
        }
    }
}

private struct Count {
    /// Approximate limit of rows read per table. A row costs two lookups, about 16 microseconds, so a table takes at
    /// most half a second. Counts are off by a few percent.
    private static let sampleSize = 30_000

    let scope: Scope
    var ages: [Counts.Group: [Int]] = [:]
    var isEstimated = false

    private struct Activities: DecodableRow {
        let state: String
        let age: Int
        let tokenState: String?
        let tokenAge: Int?

        init(row: NamedRow) throws {
            state = try row["state"]
            age = try row["age"]
            tokenState = try row["token_state"]
            tokenAge = try row["token_age"]
        }
    }

    private struct Tokens: DecodableRow {
        let kind: String
        let state: String
        let age: Int

        init(row: NamedRow) throws {
            kind = try row["kind"]
            state = try row["state"]
            age = try row["age"]
        }
    }

    mutating func addActivities(_ session: borrowing PostgresSession) throws {
        let groups: [(Activities, count: Int)] = try count("counts.count-activities", in: "activities", session)
        for (group, count) in groups {
            try add(count, "activity", group.state, age: group.age)
            guard let state = group.tokenState, let age = group.tokenAge else { continue }
            try add(count, TokenKind.update.name, state, age: age)
        }
    }

    mutating func addTokens(_ session: borrowing PostgresSession) throws {
        let groups: [(Tokens, count: Int)] = try count("counts.count-tokens", in: "installation_tokens", session)
        for (group, count) in groups { try add(count, group.kind, group.state, age: group.age) }
    }

    private mutating func count<Group: DecodableRow>(
        _ query: Query,
        in table: String,
        _ session: borrowing PostgresSession
    ) throws -> [(Group, count: Int)] {
        let sample = try TableSample(table, size: Self.sampleSize, of: scope, session)
        let values: QueryValues = ["scope": scope.id, "ages": RegistryStatistics.ageLimits]
        let counted: (groups: [(Group, count: Int)], isEstimated: Bool) = try sample.count(query, values, session)
        isEstimated = isEstimated || counted.isEstimated
        return counted.groups
    }

    private mutating func add(_ count: Int, _ kind: String, _ state: String, age: Int) throws {
        guard let group = Counts.Group(kind: kind, state: state) else {
            throw UnreadableRow(detail: "an unknown kind or state")
        }
        ages[group, default: RegistryStatistics.emptyAges.map { _ in 0 }][age] += count
    }
}

extension Query {
    static let readLatestCounts: Query = "counts.read-latest"
}
